// Package outbound says where connections may go if their address comes from outside, as for webhooks, learning platforms and sign-in
// providers. Start from Public. It is applied to a resolved address at the moment of dialling, so that a name cannot resolve to something
// else in between. The package makes no connections itself. There is one file.
package outbound
