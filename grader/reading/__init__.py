"""From a student's files to source that can be compiled, one piece at a time. Never compiles anything itself."""
