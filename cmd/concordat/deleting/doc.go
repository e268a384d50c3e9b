// Package deleting has the commands that delete for good and set how long things are kept: "concordat delete" and "concordat
// retention". What they do is in package site/retain.
package deleting
