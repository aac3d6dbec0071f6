"""What a person sees and answers: colour, columns, questions."""
