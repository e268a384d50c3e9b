// Package outbound says where connections may go whose address comes from outside: of webhooks, of learning platforms,
// and of providers at which people sign in. Start from Public, which holds for an address that was resolved, at the
// moment when it is dialled: no name can resolve to something else in between. It connects to nobody itself. There is
// one file.
package outbound
