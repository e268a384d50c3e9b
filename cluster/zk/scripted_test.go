package zk

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	zkclient "github.com/go-zookeeper/zk"
)

// Operations of ZooKeeper's protocol.
const (
	opCreate   = 1
	opDelete   = 2
	opGet      = 4
	opSet      = 5
	opSync     = 9
	opPing     = 11
	opChildren = 12
	opCheck    = 13
	opMulti    = 14
	opAuth     = 100
	opClose    = -11
)

// Errors of ZooKeeper's protocol.
const (
	codeOK         = 0
	codeSystem     = -1
	codeNoNode     = -101
	codeNoAuth     = -102
	codeBadVersion = -103
	codeNodeExists = -110
	codeAuthFailed = -115
)

// scripted is a ZooKeeper in this process, without events, sessions that expire, or access control. It refuses what the test tells it to,
// and so reaches what a real one does only by chance.
type scripted struct {
	mu     sync.Mutex // guards the following fields
	znodes map[string]scriptedNode
	zxid   int64
	// watches counts the watches set so far, by path; none of them reports anything.
	watches map[string]int
	// refuse, if set, is called before each operation with its path, and returns the code of an error, or codeOK. For a multi, it is called
	// for each of its operations.
	refuse func(op int32, path string) int32
}

type scriptedNode struct {
	data    []byte
	version int32
	created int64
	owner   int64
}

// newScripted returns an empty ZooKeeper, and the options of a node for it.
func newScripted(t *testing.T) (*scripted, Options) {
	z := &scripted{znodes: map[string]scriptedNode{"": {}}, watches: map[string]int{}}
	o, err := Options{Servers: []string{"scripted:1"}, Site: "alpha", Scheme: "natural", Node: "a", Found: true, Timeout: 30 * time.Second,
		Reread: time.Hour, Identity: filepath.Join(t.TempDir(), "a.json"), dial: z.dial}.complete()
	if err != nil {
		t.Fatal(err)
	}
	return z, o
}

// script replaces refuse.
func (z *scripted) script(refuse func(op int32, path string) int32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refuse = refuse
}

// put changes a znode behind the session's back.
func (z *scripted) put(path string, data []byte) {
	z.mu.Lock()
	defer z.mu.Unlock()
	n := z.znodes[path]
	n.data, n.version = data, n.version+1
	z.znodes[path] = n
}

func (z *scripted) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	go z.serve(there)
	return here, nil
}

func (z *scripted) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	b, ok := receive(c) // protocol, last transaction, timeout, session, password
	if !ok {
		return
	}
	const session = 7
	out := append(make([]byte, 4), b[12:16]...)
	out = binary.BigEndian.AppendUint64(out, session)
	out = appendString(out, strings.Repeat("p", 16))
	for send(c, out) {
		if b, ok = receive(c); !ok {
			return
		}
		in := &jute{b}
		xid, op := in.int(), in.int()
		code, body := z.answer(op, in)
		out = binary.BigEndian.AppendUint32(nil, uint32(xid))
		z.mu.Lock()
		out = binary.BigEndian.AppendUint64(out, uint64(z.zxid))
		z.mu.Unlock()
		out = append(binary.BigEndian.AppendUint32(out, uint32(code)), body...)
	}
}

func receive(c net.Conn) ([]byte, bool) {
	var n [4]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		return nil, false
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(c, b)
	return b, err == nil
}

func send(c net.Conn, b []byte) bool {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err == nil
}

// jute reads the encoding of ZooKeeper's messages.
type jute struct{ b []byte }

func (j *jute) int() int32 {
	v := int32(binary.BigEndian.Uint32(j.b))
	j.b = j.b[4:]
	return v
}

func (j *jute) bytes() []byte {
	n := max(j.int(), 0) // -1 is a missing value
	v := j.b[:n]
	j.b = j.b[n:]
	return v
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendStat(b []byte, n scriptedNode) []byte {
	for _, v := range []int64{n.created, 0, 0, 0} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n.version))
	b = append(b, make([]byte, 8)...)
	b = binary.BigEndian.AppendUint64(b, uint64(n.owner))
	return append(b, make([]byte, 16)...)
}

// answer performs one request and returns its code and result.
func (z *scripted) answer(op int32, in *jute) (int32, []byte) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if op != opMulti {
		return z.do(op, in)
	}
	before := maps.Clone(z.znodes)
	header := func(b []byte, kind int32, done byte) []byte {
		b = append(binary.BigEndian.AppendUint32(b, uint32(kind)), done)
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	var good, bad []byte
	refused := false
	for {
		kind, done := in.int(), in.b[0]
		in.b = in.b[5:]
		if done != 0 {
			break
		}
		code, result := int32(codeOK), []byte(nil)
		if !refused { // the rest is only read
			code, result = z.do(kind, in)
		} else {
			z.skip(kind, in)
			code = -2
		}
		good = append(header(good, kind, 0), result...)
		bad = binary.BigEndian.AppendUint32(header(bad, -1, 0), uint32(code))
		refused = refused || code != codeOK
	}
	if refused {
		z.znodes, good = before, bad
	}
	return codeOK, header(good, -1, 1)
}

// skip reads an operation that is not performed.
func (z *scripted) skip(op int32, in *jute) {
	refuse := z.refuse
	z.refuse = func(int32, string) int32 { return codeSystem }
	z.do(op, in)
	z.refuse = refuse
}

// do performs one operation. z.mu is held.
func (z *scripted) do(op int32, in *jute) (int32, []byte) {
	var p string
	var data []byte
	version, flags := int32(-1), int32(0)
	switch op {
	case opPing, opClose:
		return codeOK, nil
	case opAuth:
		in.int()
		p = string(in.bytes())
	case opCreate:
		p, data = string(in.bytes()), in.bytes()
		for range in.int() { // access control list
			in.int()
			in.bytes()
			in.bytes()
		}
		flags = in.int()
	case opSet:
		p, data, version = string(in.bytes()), in.bytes(), in.int()
	case opDelete, opCheck:
		p, version = string(in.bytes()), in.int()
	default:
		p = string(in.bytes())
		if op != opSync {
			z.watches[p] += int(in.b[0])
		}
	}
	if z.refuse != nil {
		if code := z.refuse(op, p); code != codeOK {
			return code, nil
		}
	}
	n, there := z.znodes[p]
	_, above := z.znodes[strings.TrimSuffix(path.Dir(p), "/")]
	switch {
	case op == opAuth:
		return codeOK, nil
	case op == opSync:
		return codeOK, appendString(nil, p)
	case op == opCreate && there:
		return codeNodeExists, nil
	case op == opCreate && !above, op != opCreate && !there:
		return codeNoNode, nil
	case version >= 0 && version != n.version:
		return codeBadVersion, nil
	}
	switch op {
	case opCreate:
		z.zxid++
		z.znodes[p] = scriptedNode{data: append([]byte(nil), data...), created: z.zxid, owner: int64(flags & zkclient.FlagEphemeral)}
		return codeOK, appendString(nil, p)
	case opSet:
		z.zxid++
		n.data, n.version = append([]byte(nil), data...), n.version+1
		z.znodes[p] = n
		return codeOK, appendStat(nil, n)
	case opDelete:
		z.zxid++
		delete(z.znodes, p)
	case opGet:
		return codeOK, appendStat(appendString(nil, string(n.data)), n)
	case opChildren:
		var names []byte
		count := uint32(0)
		for child := range z.znodes {
			if child != "" && path.Dir(child) == p {
				names = appendString(names, path.Base(child))
				count++
			}
		}
		return codeOK, appendStat(append(binary.BigEndian.AppendUint32(nil, count), names...), n)
	}
	return codeOK, nil
}
