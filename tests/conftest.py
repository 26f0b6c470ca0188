"""What all tests share: Hypothesis without a clock, for a busy machine is no bug."""

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
