// Package outbound says where connections may go whose address comes from outside: of webhooks, learning platforms
// and sign-in providers. Start from Public, which holds for an address that was resolved, at the moment when it is
// dialled: no name can resolve to something else in between. It makes no connections itself. There is one file.
package outbound
