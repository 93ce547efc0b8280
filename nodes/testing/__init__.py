"""What tests of conversations need: strategies for Hypothesis, and a runner for the laws."""
