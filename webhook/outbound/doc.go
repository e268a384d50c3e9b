// Package outbound decides which addresses from outside may be connected to, as for webhooks, learning platforms and sign-in providers.
// Start from Public. Public is applied to a resolved address at the moment of dialling, so that a name cannot resolve to something else in
// between. The package makes no connections itself. There is one file.
package outbound
