package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"concordat/extract"
)

// Office converts word-processor files to PDF with LibreOffice, a separate program that must be installed. LibreOffice runs in a process
// that can read only its own program, fonts and one folder, writes only to that folder, has no network, starts no other process and ends
// with this one. If this cannot be enforced, FindOffice fails. Each file gets a separate process and profile, with limits on time, memory
// and output. It is safe for concurrent use.
type Office struct {
	o       OfficeOptions
	program string // soffice.bin
}

// OfficeOptions configure an Office. A zero field selects its default.
type OfficeOptions struct {
	// Command is the program; default "soffice" or "libreoffice", looked up in PATH.
	Command string
	// Wall is the time limit for one file; default 2 minutes.
	Wall time.Duration
	// CPU is the maximum processor time for one file, rounded up to seconds; default 1 minute.
	CPU time.Duration
	// Memory is the maximum memory in bytes; default 1 GiB.
	Memory int64
	// MaxOutput is the maximum size of a PDF, and of any other file that LibreOffice writes, in bytes; default 256 MiB.
	MaxOutput int64
	// Executable is the program to run as child; default the running program.
	Executable string
}

// Errors explaining why there is no Office.
var (
	ErrNoOffice   = errors.New("LibreOffice is not installed")
	ErrUnconfined = errors.New("this system cannot confine LibreOffice: confinement requires Linux 5.13 or later with Landlock and seccomp")
)

// officeFilters maps file extensions to LibreOffice's own readers; a file is read in the format of its extension or not at all.
var officeFilters = map[string]string{".docx": "MS Word 2007 XML", ".odt": "writer8"}

// Converts reports whether an Office can convert files with this name to PDF.
func Converts(name string) bool { return officeFilters[strings.ToLower(filepath.Ext(name))] != "" }

// FindOffice looks for LibreOffice. It fails with ErrNoOffice or ErrUnconfined.
func FindOffice(o OfficeOptions) (*Office, error) {
	if o.Wall == 0 {
		o.Wall = 2 * time.Minute
	}
	if o.CPU == 0 {
		o.CPU = time.Minute
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = 256 << 20
	}
	var err error
	if o.Executable == "" {
		if o.Executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the running program: %w", err)
		}
	}
	names := []string{o.Command}
	if o.Command == "" {
		names = []string{"soffice", "libreoffice"}
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			continue
		}
		// soffice is a script that starts this program, which suffices without a screen.
		program := filepath.Join(filepath.Dir(path), "soffice.bin")
		if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if !officeConfined() {
			return nil, ErrUnconfined
		}
		return &Office{o, program}, nil
	}
	return nil, ErrNoOffice
}

// Version returns a text that changes when the program on disk is replaced.
func (o *Office) Version() string {
	info, err := os.Stat(o.program)
	if err != nil {
		return o.program
	}
	return fmt.Sprint(o.program, " ", info.Size(), " ", info.ModTime().UnixNano())
}

// officeArg is the hidden command that makes the binary become LibreOffice.
const officeArg = "office-worker"

// officeJob describes the work for a process that becomes LibreOffice.
type officeJob struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Dir     string   `json:"dir"` // folder that it can read and write
	CPU     int64    `json:"cpu_seconds"`
	Memory  int64    `json:"memory"`
	Output  int64    `json:"output"`
}

// officeProfile is the part of a profile that prevents LibreOffice from running programs and fetching content named in a file.
const officeProfile = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop>
</item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>2</value></prop>
</item>
</oor:items>
`

// firstStart is the exit code of a LibreOffice that has set up its profile and needs to be restarted.
const firstStart = 81

// PDF converts the file at path to PDF, reading it according to its extension (see Converts), and returns the path of the PDF below dir.
// The caller provides dir for this call alone; LibreOffice writes everything there. If the file is at fault, the error is an
// *extract.Error; any other error is due to the machine or to ctx.
func (f *Office) PDF(ctx context.Context, path, name, dir string) (string, error) {
	ext := strings.ToLower(filepath.Ext(name))
	filter := officeFilters[ext]
	if filter == "" {
		return "", &extract.Error{Code: extract.Unsupported, Detail: "files of this format cannot be converted to pages"}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, sub := range []string{"profile/user", "tmp", "out", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "profile/user/registrymodifications.xcu"), []byte(officeProfile), 0o600); err != nil {
		return "", err
	}
	in := filepath.Join(dir, "in"+ext)
	if err := copyFile(in, path); err != nil {
		return "", err
	}
	job := officeJob{Program: f.program, Dir: dir, CPU: int64((f.o.CPU + time.Second - 1) / time.Second), Memory: f.o.Memory,
		Output: f.o.MaxOutput,
		Args: []string{"--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
			"-env:UserInstallation=" + (&url.URL{Scheme: "file", Path: dir + "/profile"}).String(), "--infilter=" + filter,
			"--convert-to", `pdf:writer_pdf_Export:{"ExportNotes":{"type":"boolean","value":"false"}}`,
			"--outdir", filepath.Join(dir, "out"), in}}
	timed, cancel := context.WithTimeout(ctx, f.o.Wall)
	defer cancel()
	end, err := f.start(timed, job)
	if err == nil && end.state.ExitCode() == firstStart {
		end, err = f.start(timed, job)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	}
	out := filepath.Join(dir, "out", "in.pdf")
	if !end.state.Success() || !madePDF(out, f.o.MaxOutput) {
		late := timed.Err() != nil
		return "", end.cause(late, Options{Wall: f.o.Wall, CPU: f.o.CPU, Memory: f.o.Memory},
			fmt.Errorf("LibreOffice produced no PDF (%v)", end.state))
	}
	return out, nil
}

// start runs LibreOffice once. It returns an error only if the machine is at fault.
func (f *Office) start(ctx context.Context, job officeJob) (ending, error) {
	var in bytes.Buffer
	if err := writeFrame(&in, job); err != nil {
		return ending{}, err
	}
	var said headBuffer
	cmd := exec.CommandContext(ctx, f.o.Executable, officeArg)
	cmd.Env = []string{"GOTRACEBACK=none", ownNamespaces + "=1"}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stderr = &in, &said
	// With a separate PID namespace, another process precedes LibreOffice and kills it on request.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killTime
	err := runWithUs(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return ending{}, fmt.Errorf("start LibreOffice: %w", err)
	}
	if cmd.ProcessState == nil {
		return ending{}, ctx.Err()
	}
	end := ending{cmd.ProcessState, said.String()}
	if strings.HasPrefix(end.stderr, officeArg+":") { // the process did not become LibreOffice
		return ending{}, fmt.Errorf("start LibreOffice%s", end.note())
	}
	return end, nil
}

// madePDF reports whether path is a PDF, not a link, of no more than the given number of bytes.
func madePDF(path string, most int64) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() <= most && IsPDF(Head(path))
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
