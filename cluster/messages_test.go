package cluster

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"concordat/cluster/replica"
	"concordat/cluster/wal"
)

var (
	someFetch = replica.Fetch{From: "a", Life: "a:1", ID: 3, Epoch: 1 << 40, Next: 7, LastEpoch: 2, Full: true, Away: true, Heard: 2}
	someReply = replica.Reply{From: "b", ID: 3, Epoch: 4, Next: 7, Kind: replica.Fenced, Commit: 5, End: 9, EpochStart: 2, To: 1,
		ToEpoch: 1, Lease: 3 * time.Second, Away: true,
		Records: []wal.Record{{Seq: 7, Epoch: 4, Kind: wal.Delete, Slot: 9, Rev: 11, ID: "l\x00d", Payload: []byte{}}}}
	someWrite   = wireWrite{operation{Sender: "s", Number: 1, Done: 2, Epoch: 3, Rev: 1 << 60}, []byte("changes")}
	someWritten = wireWritten{Seq: 5, Late: []int{0, 2}, Newest: 1 << 60}
)

func TestMessages(t *testing.T) {
	// A new field must also be set in the samples.
	for _, x := range []any{someFetch, someReply, someWrite.Op, someWritten, someReply.Records[0]} {
		for i, v := 0, reflect.ValueOf(x); i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%T.%s is not tried", x, v.Type().Field(i).Name)
			}
		}
	}
	if f, ok := parseFetch(appendFetch(nil, &someFetch)); !ok || f != someFetch {
		t.Errorf("fetch %+v, %v", f, ok)
	}
	if m, err := parseReply(appendReply(nil, &someReply)); err != nil || !reflect.DeepEqual(m, someReply) {
		t.Errorf("reply %+v, %v", m, err)
	}
	if w, ok := parseWrite(appendWrite(nil, &someWrite)); !ok || !reflect.DeepEqual(w, someWrite) {
		t.Errorf("write %+v, %v", w, ok)
	}
	if w, ok := parseWritten(appendWritten(nil, &someWritten), 3); !ok || !reflect.DeepEqual(w, someWritten) {
		t.Errorf("written %+v, %v", w, ok)
	}
	if _, ok := parseWritten(appendWritten(nil, &someWritten), 2); ok {
		t.Error("an answer about a third of two changes is taken")
	}
}

// FuzzMessages: bytes from another node are refused, or equal the encoding of the message that was read from them.
func FuzzMessages(f *testing.F) {
	f.Add(appendFetch(nil, &someFetch))
	f.Add(appendReply(nil, &someReply))
	f.Add(appendWrite(nil, &someWrite))
	f.Add(appendWritten(nil, &someWritten))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, ok := parseFetch(b); ok && len(appendFetch(nil, &x)) > len(b) {
			t.Errorf("fetch %+v", x)
		}
		if x, err := parseReply(b); err == nil && len(appendReply(nil, &x)) > len(b) {
			t.Errorf("reply %+v", x)
		}
		if x, ok := parseWrite(b); ok && !bytes.HasSuffix(b, x.Changes) {
			t.Errorf("write %+v", x)
		}
		if x, ok := parseWritten(b, 4); ok && len(x.Late) > len(b) {
			t.Errorf("written %+v", x)
		}
	})
}
