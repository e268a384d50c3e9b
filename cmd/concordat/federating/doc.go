// Package federating has the commands about other sites: partners and invitations, federations, shares, mirrors, disclosures
// and alerts. What they do is in packages partners and site; start with peer.go and share.go.
package federating
