// Package signin has the commands about sign-in from elsewhere: links to accounts of identity providers, and learning
// platforms.
package signin
