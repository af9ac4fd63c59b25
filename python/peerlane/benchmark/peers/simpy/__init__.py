"""The job on SimPy: a program of ours that models the same links with processes and stores."""
