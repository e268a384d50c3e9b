// Package signin has the commands about how people come in from elsewhere: links to the accounts of identity providers, and
// learning platforms.
package signin
