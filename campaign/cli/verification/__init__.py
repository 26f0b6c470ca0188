"""`dvs verify` and `dvs soak`: theorems, rules and protocols on small cases, and busy accounts."""
