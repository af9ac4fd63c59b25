"""Results and captures: fields, tables, figures and traces."""
