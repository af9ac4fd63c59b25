"""The job on SimPy: a program of this project, with the same links as processes and stores."""
