"""Compares the texts of records with the libraries of a Concordat site."""
