package extract

import (
	"strings"
	"unicode"
)

// Codes of Error.
const (
	NoTextLayer = "no_text_layer" // the pages are images
	Empty       = "empty"         // no bytes, or no text
	Encrypted   = "encrypted"     // a password is required
	Damaged     = "damaged"       // the file violates the rules of its format
	Unsupported = "unsupported"   // a known format without a reader
	Limit       = "limit"         // a limit of Options was exceeded
	Timeout     = "timeout"       // the time limit was exceeded (sandbox)
	Crashed     = "crashed"       // the child process ended without answering (sandbox)
	Binary      = "binary"        // not text, and no known format
	Encoding    = "encoding"      // text, but its encoding could not be determined
	Archive     = "archive"       // contains several files; use Members
	Unreadable  = "unreadable"    // the operating system refused to open or read it (sandbox)
	Invalid     = "invalid"       // the caller's options are out of range
)

// Error explains why a file yielded no text. Find it with errors.As.
type Error struct {
	Code   string `json:"code"`             // one of the constants above
	Detail string `json:"detail,omitempty"` // what is wrong with this file
	Advice string `json:"advice,omitempty"` // what to do; empty for the code's general advice
	// NoEngine means that the file is a PDF but Options.PDF is nil.
	NoEngine bool `json:"-"`
}

// Error describes what happened and what to do about it.
func (e *Error) Error() string {
	s := e.Code
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if a := e.advice(); a != "" {
		s += " (" + a + ")"
	}
	return s
}

// Reason returns the error's code, detail and advice in the wording of Error; a task records them as the cause of its failure.
func (e *Error) Reason() (code, detail, advice string) { return e.Code, e.Detail, e.advice() }

func (e *Error) advice() string {
	if e.Advice != "" {
		return e.Advice
	}
	switch e.Code {
	case NoTextLayer:
		return "run character recognition (OCR) on the file, or submit the original document"
	case Empty:
		return "submit a file that contains text"
	case Encrypted:
		return "remove the password and submit the file again"
	case Damaged:
		return "open the file in the program that created it and save it again"
	case Unsupported:
		return "save the file as DOCX, ODT, PDF or plain text"
	case Binary:
		return "submit a document, not a program or a picture"
	case Encoding:
		return "save the file as UTF-8"
	case Timeout:
		return "split the file, or raise the time limit"
	case Crashed:
		return "save the file in a different format; if it fails again, report the problem"
	case Archive:
		return "the files in the archive are read one by one"
	}
	return ""
}

// WithAdvice returns e with its advice filled in, for callers that display the parts separately.
func (e *Error) WithAdvice() *Error {
	c := *e
	c.Advice = e.advice()
	return &c
}

// LimitError returns the error for exceeding the named limit of Options. Its advice names the configuration key for the limit.
func LimitError(what, option, detail string) *Error {
	return &Error{Code: Limit, Detail: what + ": " + detail, Advice: "raise " + SettingOf(option) + " to allow it"}
}

func limitError(what, option, detail string) *Error { return LimitError(what, option, detail) }

// SettingOf returns the names of the configuration key that sets an option such as MaxRatio, and of the
// environment variable that overrides it.
func SettingOf(option string) string {
	var key strings.Builder
	for i, r := range option {
		if i > 0 && unicode.IsUpper(r) && option != strings.ToUpper(option) {
			key.WriteByte('_')
		}
		key.WriteRune(unicode.ToLower(r))
	}
	return "extract." + key.String() + " (CONCORDAT_EXTRACT_" + strings.ToUpper(key.String()) + ")"
}
