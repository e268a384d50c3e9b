package inbox

import "testing"

// TestKindKey: the types that COAR Notify uses, by name or by address, have words; others are shown as they are.
func TestKindKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ types, want string }{
		{"Offer coar-notify:ReviewAction", "inbox.kind.review"},
		{"coar-notify:ReviewAction Offer", "inbox.kind.review"},
		{"Offer https://coar-notify.net/ReviewAction", "inbox.kind.review"},
		{"Offer coar-notify:EndorsementAction", "inbox.kind.endorsement"},
		{"https://www.w3.org/ns/activitystreams#Undo", "inbox.kind.Undo"},
		{"Announce coar-notify:ReviewAction", "inbox.kind.Announce"},
		{"Accept", "inbox.kind.Accept"},
		{"Reject", "inbox.kind.Reject"},
		{"TentativeAccept", "inbox.kind.TentativeAccept"},
		{"TentativeReject", "inbox.kind.TentativeReject"},
		{"Flag coar-notify:UnprocessableNotification", "inbox.kind.Flag"},
		{"Offer https://purl.org/coar/notify/EndorsementAction", "inbox.kind.endorsement"},
		{"Undo", "inbox.kind.Undo"},
		{"Announce", "inbox.kind.Announce"},
		{"https://www.w3.org/ns/activitystreams#Announce https://coar-notify.net/ReviewAction", "inbox.kind.Announce"},
		{"Flag", "inbox.kind.Flag"},
		{"Offer", ""},
		{"coar-notify:ReviewAction", ""},
		{"Offer ietf:SomethingNew", ""},
		{"Accepted", ""},
		{"", ""},
	} {
		if got := kindKey(c.types); got != c.want {
			t.Errorf("%q: %q, want %q", c.types, got, c.want)
		}
	}
}
