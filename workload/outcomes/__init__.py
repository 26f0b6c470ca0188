"""Results of runs: traces (`trace`), judgements and summaries (`results`), and verdicts (`run_verdict`)."""
