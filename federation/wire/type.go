package wire

import "fmt"

// Type is the type of a message, as its envelope carries it.
type Type uint8

// The types of messages; Type.Reply tells which answers which.
const (
	TypeAsk           Type = 1
	TypeTell          Type = 2
	TypeError         Type = 3
	TypeCatalogueAsk  Type = 4
	TypeBlindEvaluate Type = 5 // reserved for the blind mode
	TypeBlindAnswer   Type = 6 // reserved for the blind mode
	TypeRevealAsk     Type = 7
	TypeRevealed      Type = 8
	TypeCardAsk       Type = 9
	TypeHeadAsk       Type = 10
	TypeCatalogue     Type = 11
	TypeOutlineAsk    Type = 12
	TypeOutlines      Type = 13
	TypeEdgesAsk      Type = 14
	TypeEdges         Type = 15
	TypeShipAsk       Type = 16
	TypeShipment      Type = 17
	TypeNotice        Type = 18
	TypeReceived      Type = 19
	TypeCard          Type = 20
	TypeHead          Type = 21
	TypeSecretAsk     Type = 22
	TypeSecret        Type = 23
)

var replies = map[Type]Type{
	TypeAsk: TypeTell, TypeCatalogueAsk: TypeCatalogue, TypeRevealAsk: TypeRevealed, TypeCardAsk: TypeCard,
	TypeHeadAsk: TypeHead, TypeOutlineAsk: TypeOutlines, TypeEdgesAsk: TypeEdges, TypeShipAsk: TypeShipment,
	TypeNotice: TypeReceived, TypeSecretAsk: TypeSecret,
}

// Reply returns the type that answers t, and false if t is no request of this version.
func (t Type) Reply() (Type, bool) {
	r, ok := replies[t]
	return r, ok
}

var typeNames = map[Type]string{
	TypeAsk: "ask", TypeTell: "tell", TypeError: "error", TypeCatalogueAsk: "catalogue ask",
	TypeBlindEvaluate: "blind evaluate", TypeBlindAnswer: "blind answer", TypeRevealAsk: "reveal ask",
	TypeRevealed: "revealed", TypeCardAsk: "card ask", TypeHeadAsk: "head ask", TypeCatalogue: "catalogue",
	TypeOutlineAsk: "outline ask", TypeOutlines: "outlines", TypeEdgesAsk: "edges ask", TypeEdges: "edges",
	TypeShipAsk: "ship ask", TypeShipment: "shipment", TypeNotice: "notice", TypeReceived: "received",
	TypeCard: "card", TypeHead: "head", TypeSecretAsk: "secret ask", TypeSecret: "secret",
}

// String returns the name of t, which is also the Kind of its Statement.
func (t Type) String() string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Version is the version of every payload, its first byte.
const Version = 1

// Modes of a request. The mode is the second byte of a request's payload.
const (
	ModeSealed = 1
	ModeBlind  = 2 // reserved
)
