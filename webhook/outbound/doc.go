// Package outbound decides which addresses received from outside may be connected to, for example by webhooks, learning platforms and
// sign-in providers. Start from Public. Apply Public to the resolved address when dialling, so that a name cannot resolve to another
// address in between. The package makes no connections itself. There is one file.
package outbound
