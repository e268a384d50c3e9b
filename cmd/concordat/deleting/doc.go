// Package deleting implements the commands that delete permanently and set retention: "concordat delete" and "concordat retention".
// Package site/retain does the work.
package deleting
