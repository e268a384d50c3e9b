// Package signin implements the commands for external sign-in: links to accounts of identity providers, and learning platforms.
package signin
