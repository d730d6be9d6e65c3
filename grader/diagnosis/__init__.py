"""Why an answer is wrong: the contract probe, misconceptions from recorded calls, crashes by kind."""
