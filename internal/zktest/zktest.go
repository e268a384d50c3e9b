//go:build linux

// Package zktest runs real ZooKeeper servers, from Debian's package, for tests; they use loopback and their own folders. It neither
// starts nor uses a system service.
package zktest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"concordat/internal/ports"
)

// These are the jars of the package zookeeper. Their manifests list all others except the ones for TLS.
var (
	jars    = []string{"zookeeper.jar", "slf4j-simple.jar"}
	tlsJars = []string{"netty-codec.jar", "netty-resolver.jar", "netty-transport-native-unix-common.jar"}
)

const jarDir = "/usr/share/java"

// Missing returns the name of the package to install, or "".
func Missing() string {
	if _, err := exec.LookPath("java"); err != nil {
		return "java"
	}
	for _, j := range jars {
		if _, err := os.Stat(filepath.Join(jarDir, j)); err != nil {
			return "zookeeper"
		}
	}
	return ""
}

// Host specifies where a server runs.
type Host struct {
	Address string   // address of the machine, without a port
	Run     []string // prefix for the server's command, for example "ip netns exec NAME"
}

// Ensemble is one server, or several servers that elect a leader.
type Ensemble struct {
	t       testing.TB
	dir     string
	extra   string // additional configuration lines
	servers []*server
}

type server struct {
	host    Host
	id      int
	port    int // port for clients
	quorum  [2]int
	process *os.Process
	ended   chan struct{}
}

// Start runs n servers and returns when they answer. Without the package, it skips the test. It adds the lines of extra to each server's
// configuration. The servers stop when the test ends.
func Start(t testing.TB, n int, extra ...string) *Ensemble {
	t.Helper()
	if m := Missing(); m != "" {
		t.Skipf("ZooKeeper is not installed: apt-get install %s", m)
	}
	e := &Ensemble{t: t, dir: t.TempDir(), extra: strings.Join(extra, "\n")}
	ports := ports.Free(t, 3*n)
	for i := range n {
		e.servers = append(e.servers, &server{host: Host{Address: "127.0.0.1"}, id: i + 1, port: ports[3*i],
			quorum: [2]int{ports[3*i+1], ports[3*i+2]}})
	}
	e.start()
	return e
}

// StartAt is like Start, with one server on each host, at ZooKeeper's usual ports.
func StartAt(t testing.TB, hosts []Host) *Ensemble {
	t.Helper()
	if m := Missing(); m != "" {
		t.Skipf("ZooKeeper is not installed: apt-get install %s", m)
	}
	e := &Ensemble{t: t, dir: t.TempDir()}
	for i, h := range hosts {
		e.servers = append(e.servers, &server{host: h, id: i + 1, port: 2181, quorum: [2]int{2888, 3888}})
	}
	e.start()
	return e
}

func (e *Ensemble) start() {
	e.t.Helper()
	e.t.Cleanup(e.stop)
	for i := range e.servers {
		e.Run(i)
	}
	for i := range e.servers {
		e.Await(i)
	}
}

// Addresses returns host:port of each server.
func (e *Ensemble) Addresses() []string {
	var all []string
	for _, s := range e.servers {
		all = append(all, fmt.Sprintf("%s:%d", s.host.Address, s.port))
	}
	return all
}

func (e *Ensemble) folder(i int) string { return filepath.Join(e.dir, fmt.Sprint(i+1)) }

// configure writes the configuration of server i.
func (e *Ensemble) configure(i int) string {
	e.t.Helper()
	s, data := e.servers[i], filepath.Join(e.folder(i), "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		e.t.Fatal(err)
	}
	cfg := fmt.Sprintf("tickTime=250\ninitLimit=40\nsyncLimit=20\ndataDir=%s\nclientPort=%d\nclientPortAddress=%s\nadmin.enableServer=false\n"+
		"4lw.commands.whitelist=ruok,srvr,mntr\nmaxClientCnxns=0\nminSessionTimeout=1000\nmaxSessionTimeout=60000\n%s\n", data, s.port,
		s.host.Address, e.extra)
	if len(e.servers) > 1 {
		cfg += "standaloneEnabled=false\n"
		for _, o := range e.servers {
			cfg += fmt.Sprintf("server.%d=%s:%d:%d\n", o.id, o.host.Address, o.quorum[0], o.quorum[1])
		}
		if err := os.WriteFile(filepath.Join(data, "myid"), []byte(fmt.Sprint(s.id)), 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
	path := filepath.Join(e.folder(i), "zoo.cfg")
	if err := os.WriteFile(path, []byte(cfg), 0o600); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// Run starts server i, which must not be running. Use Await to wait until it answers.
func (e *Ensemble) Run(i int) {
	e.t.Helper()
	cfg := e.configure(i)
	var class []string
	for _, j := range append(append([]string{}, jars...), tlsJars...) {
		class = append(class, filepath.Join(jarDir, j))
	}
	run := append(append([]string{}, e.servers[i].host.Run...), "java", "-Xms48m", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server."+e.factory(), "-cp", strings.Join(class, ":"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg)
	cmd := exec.Command(run[0], run[1:]...)
	log, err := os.OpenFile(filepath.Join(e.folder(i), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	s := e.servers[i]
	s.ended = make(chan struct{})
	started := make(chan error)
	go func() {
		// The process gets its death signal when the thread that started it ends, so that thread must live on.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		log.Close()
		close(s.ended)
	}()
	if err := <-started; err != nil {
		e.t.Fatal(err)
	}
	s.process = cmd.Process
}

func (e *Ensemble) factory() string {
	if strings.Contains(e.extra, "secureClientPort") {
		return "NettyServerCnxnFactory"
	}
	return "NIOServerCnxnFactory"
}

// Ask sends a four-letter command to server i, and returns "" if it does not answer within five seconds, because a server that is
// starting can leave the connection open forever.
func (e *Ensemble) Ask(i int, command string) string {
	c, err := net.DialTimeout("tcp", e.Addresses()[i], 5*time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(c, command)
	b, _ := io.ReadAll(io.LimitReader(c, 64<<10))
	return string(b)
}

// Await waits until server i serves.
func (e *Ensemble) Await(i int) {
	e.t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for !strings.Contains(e.Ask(i, "srvr"), "Mode:") {
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(filepath.Join(e.folder(i), "log"))
			e.t.Fatalf("ZooKeeper server %d is not responding:\n%s", i+1, b[max(0, len(b)-4000):])
		}
		time.Sleep(100 * time.Millisecond) // between requests
	}
}

// Leader returns the number of the leading server, or -1.
func (e *Ensemble) Leader() int {
	for i := range e.servers {
		if a := e.Ask(i, "srvr"); strings.Contains(a, "Mode: leader") || strings.Contains(a, "Mode: standalone") {
			return i
		}
	}
	return -1
}

// Kill kills server i without warning, and returns when it has ended.
func (e *Ensemble) Kill(i int) {
	e.t.Helper()
	s := e.servers[i]
	if s.process == nil {
		return
	}
	if err := s.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		e.t.Error(err)
	}
	<-s.ended
	s.process = nil
}

// Pause suspends server i as if it hung, without closing its connections. Resume lets it continue.
func (e *Ensemble) Pause(i int) { e.signal(i, syscall.SIGSTOP) }

// Resume is the inverse of Pause.
func (e *Ensemble) Resume(i int) { e.signal(i, syscall.SIGCONT) }

func (e *Ensemble) signal(i int, s os.Signal) {
	e.t.Helper()
	if err := e.servers[i].process.Signal(s); err != nil {
		e.t.Fatal(err)
	}
}

// Wipe deletes all of server i's data on disk. The server must not be running.
func (e *Ensemble) Wipe(i int) {
	e.t.Helper()
	if err := os.RemoveAll(filepath.Join(e.folder(i), "data")); err != nil {
		e.t.Fatal(err)
	}
}

// Keep moves all of server i's data on disk to the folder to; the server must not be running. Return moves it back, replacing the
// server's newer data.
func (e *Ensemble) Keep(i int, to string) {
	e.t.Helper()
	if err := errors.Join(os.MkdirAll(to, 0o700), os.Rename(filepath.Join(e.folder(i), "data"),
		filepath.Join(to, fmt.Sprint(i)))); err != nil {
		e.t.Fatal(err)
	}
}

// Return is the inverse of Keep.
func (e *Ensemble) Return(i int, from string) {
	e.t.Helper()
	e.Wipe(i)
	if err := os.Rename(filepath.Join(from, fmt.Sprint(i)), filepath.Join(e.folder(i), "data")); err != nil {
		e.t.Fatal(err)
	}
}

func (e *Ensemble) stop() {
	var wg sync.WaitGroup
	for i := range e.servers {
		wg.Go(func() { e.Kill(i) })
	}
	wg.Wait()
}

// Proxy is a server address that can be cut off.
type Proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // guards the fields below
	cut   bool
	conns map[net.Conn]struct{}
	freed chan struct{} // closed when the cut ends
}

// NewProxy returns a proxy to the server at address.
func NewProxy(t testing.TB, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, to: address, conns: map[net.Conn]struct{}{}, freed: make(chan struct{})}
	go p.accept()
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.conns {
			c.Close()
		}
		if p.cut {
			p.cut = false
			close(p.freed)
		}
	})
	return p
}

// Address returns the proxy's own address.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut stops all traffic without notice to either side, like a lost network. If cut is false, it restores traffic but closes the
// interrupted connections, so their pending data is lost.
func (p *Proxy) Cut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cut == p.cut {
		return
	}
	if p.cut = cut; !cut {
		close(p.freed)
		p.freed = make(chan struct{})
		for c := range p.conns {
			c.Close()
		}
	}
}

// passes reports whether bytes pass. If not, the returned channel is closed once they pass again.
func (p *Proxy) passes() (bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.cut, p.freed
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns[c] = struct{}{}
		p.mu.Unlock()
		go p.serve(c)
	}
}

func (p *Proxy) serve(c net.Conn) {
	defer func() {
		c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	if ok, freed := p.passes(); !ok {
		<-freed
		return
	}
	d, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer d.Close()
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, d}, {d, c}} {
		wg.Go(func() {
			p.copy(way[1], way[0])
			c.Close()
			d.Close()
		})
	}
	wg.Wait()
}

func (p *Proxy) copy(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if ok, freed := p.passes(); !ok {
			<-freed
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
