package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"concordat/store"
)

// driver is the name under which package store registers its driver.
const driver = "pgx"

// A Server is a private PostgreSQL server of the test process; its own folder contains its socket. It is not durable, because tests are
// several times as fast without waiting for the disk.
type Server struct {
	dir, bin string
	user     *syscall.Credential // user that runs the server; nil means the test's user
	command  *exec.Cmd
	ended    chan error

	migrate    sync.Once // creates the database "migrated", which Database copies
	migrateErr error
}

var (
	serverOnce sync.Once
	server     *Server
	serverErr  error
	schemas    atomic.Int64
)

// Postgres returns the test process's server, which the first call starts, or skips the test if PostgreSQL is not installed. TestMain
// must call StopPostgres after the tests.
func Postgres(t testing.TB) *Server {
	t.Helper()
	serverOnce.Do(func() { server, serverErr = startServer() })
	if errors.Is(serverErr, exec.ErrNotFound) {
		t.Skipf("PostgreSQL is not installed (Debian package postgresql): %v", serverErr)
	}
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	return server
}

// StopPostgres stops the server if it is running, and removes its folder.
func StopPostgres() {
	if server != nil {
		_ = server.Stop(syscall.SIGQUIT) // its data is discarded
		_ = os.RemoveAll(server.dir)
	}
}

// Schema creates an empty schema for one test and returns its address.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d", schemas.Add(1))
	s.Exec(t, `CREATE SCHEMA `+name)
	return s.URL(name)
}

// Database creates a database for one test whose schema is up to date, and returns its address. It copies a database that was migrated
// once, in a quarter of the time that migrating takes.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.migrate.Do(func() {
		s.Exec(t, `CREATE DATABASE migrated`)
		db, err := store.Open(context.Background(), s.address("migrated", "public"))
		if err == nil {
			err = db.Close()
		}
		s.migrateErr = err
	})
	if s.migrateErr != nil {
		t.Fatal(s.migrateErr)
	}
	name := fmt.Sprintf("d%d", schemas.Add(1))
	s.Exec(t, `CREATE DATABASE `+name+` TEMPLATE migrated STRATEGY FILE_COPY`)
	t.Cleanup(func() { s.Exec(t, `DROP DATABASE `+name+` WITH (FORCE)`) })
	return s.address(name, "public")
}

// URL returns the address of a schema.
func (s *Server) URL(schema string) string { return s.address("postgres", schema) }

func (s *Server) address(database, schema string) string {
	return "postgres://concordat@/" + database + "?" + url.Values{"host": {s.dir}, "search_path": {schema}}.Encode()
}

// Exec executes statements as the superuser.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, s.URL("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, one := range statements {
		if _, err := db.Exec(one); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
}

// Folder creates a folder that the server can reach; Give makes the server its owner.
func (s *Server) Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(s.dir, "own-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Give makes the server the owner of a folder.
func (s *Server) Give(t testing.TB, dir string) {
	t.Helper()
	if s.user == nil {
		return
	}
	if err := os.Chown(dir, int(s.user.Uid), int(s.user.Gid)); err != nil {
		t.Fatal(err)
	}
}

func startServer() (*Server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return nil, err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("initdb: %w", exec.ErrNotFound)
	}
	slices.Sort(found)
	s := &Server{bin: filepath.Dir(found[len(found)-1])}
	if s.dir, err = os.MkdirTemp(memory(), "concordat-pg-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // initdb refuses to run as root
		if s.user, err = serverUser(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.dir, int(s.user.Uid), int(s.user.Gid)); err != nil {
			return nil, err
		}
	}
	// The collation differs from the order of bytes, so that tests detect code that relies on the database's own order.
	out, err := s.run("initdb", "-D", s.data(), "-U", "concordat", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions",
		"--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Start()
}

// memory returns the folder that Linux keeps in memory if it has room for the databases of a test process, and otherwise "". Each test
// copies a database of several hundred files, which costs most of the processor time of a test on a disk. TMPDIR overrides it.
func memory() string {
	const dir, room = "/dev/shm", 2 << 30
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return dir
}

// serverUser returns the user that runs the server if the test runs as root: postgres, which PostgreSQL's package creates, or else
// nobody.
func serverUser() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		out, err := exec.Command("id", "-u", name).Output()
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(string(bytes.TrimSpace(out)), 10, 32)
		if err != nil {
			return nil, err
		}
		out, err = exec.Command("id", "-g", name).Output()
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(string(bytes.TrimSpace(out)), 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, errors.New("the server needs a user named postgres or nobody, but neither user exists")
}

// Tables returns the folder with the tables' files.
func (s *Server) Tables() string { return filepath.Join(s.data(), "base") }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, program), args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	return c
}

// Start restarts the server after Stop.
func (s *Server) Start() error {
	c := s.run("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "max_connections=300", "-c", "shared_buffers=32MB", "-c", "autovacuum=off", "-c", "log_min_messages=fatal")
	die(c.SysProcAttr)
	s.command, s.ended = c, make(chan error, 1)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the server ends together with the thread that started it
		err := c.Start()
		started <- err
		if err == nil {
			s.ended <- c.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	db, err := sql.Open(driver, s.URL("public"))
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		select {
		case err := <-s.ended:
			return fmt.Errorf("the server has exited: %w", err)
		default:
		}
		if err := db.PingContext(context.Background()); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond) // the server does not announce when it is ready
	}
}

// Stop stops the server with a signal: SIGINT shuts it down cleanly, SIGQUIT immediately.
func (s *Server) Stop(how syscall.Signal) error {
	if err := s.command.Process.Signal(how); err != nil {
		return err
	}
	<-s.ended
	return nil
}
