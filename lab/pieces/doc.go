// Package pieces creates the table of package meaning from the weights of an encoder.
package pieces
