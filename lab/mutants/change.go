package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Change is one edit of one file. It replaces the bytes from Start to End with To.
type Change struct {
	File       string // relative to the root of the module
	Line       int
	Func       string // enclosing function or method, "" outside of functions
	Kind       string
	Start, End int
	From, To   string
	Nth        int  // index among the function's changes with the same From and To, from 0
	InCase     bool // whether it is in the condition of a case, which coverage counts with the body after it
	Form       form // how it can be switched on while the program runs
	// These are for numeric operators: the end of the left operand, the start of the right one, and the two operators.
	LeftEnd, RightStart int
	Op, ToOp            string
}

// Key identifies a change without its line, so that it can be found again after edits elsewhere.
func (c Change) Key() string {
	return strings.Join([]string{c.File, c.Func, strconv.Itoa(c.Nth), oneLine(c.From), oneLine(c.To)}, "\t")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// changes returns, in order, every change to the Go files in a package's folder that are neither tests nor generated.
func changes(root, pkg string) ([]Change, error) {
	paths, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		cs, err := changesOf(filepath.ToSlash(filepath.Join(pkg, filepath.Base(p))), b)
		if err != nil {
			return nil, err
		}
		out = append(out, cs...)
	}
	return out, nil
}

// changesOf returns the changes of one file.
func changesOf(name string, src []byte) ([]Change, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(f) {
		return nil, nil
	}
	c := &collector{name: name, src: src, fset: fset}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			c.fn = funcName(fn)
			ast.Inspect(fn.Body, c.visit)
		}
	}
	slices.SortStableFunc(c.out, func(a, b Change) int { return a.Start - b.Start })
	number(c.out)
	return c.out, nil
}

// number numbers changes that do not differ otherwise.
func number(cs []Change) {
	seen := map[string]int{}
	for i := range cs {
		k := cs[i].Key()
		cs[i].Nth = seen[k]
		seen[k]++
	}
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

type collector struct {
	name string
	src  []byte
	fset *token.FileSet
	fn   string
	out  []Change

	casesEnd token.Pos // end of the condition of the case entered last
}

func (c *collector) offset(p token.Pos) int { return c.fset.Position(p).Offset }

func (c *collector) text(n ast.Node) string {
	return string(c.src[c.offset(n.Pos()):c.offset(n.End())])
}

func (c *collector) replace(kind string, f form, n ast.Node, to string) {
	c.out = append(c.out, Change{File: c.name, Line: c.fset.Position(n.Pos()).Line, Func: c.fn, Kind: kind,
		Start: c.offset(n.Pos()), End: c.offset(n.End()), From: c.text(n), To: to, InCase: n.End() <= c.casesEnd, Form: f})
}

// visit records the changes at one node. Changes that do not compile are detected and dropped when they are run.
func (c *collector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		c.replace("condition", formTruth, n.Cond, "false && ("+c.text(n.Cond)+")")
		c.replace("condition", formTruth, n.Cond, "true || ("+c.text(n.Cond)+")")
	case *ast.CaseClause:
		for _, x := range n.List {
			c.casesEnd = max(c.casesEnd, x.End())
			if isCondition(x) {
				c.replace("condition", formTruth, x, "false && ("+c.text(x)+")")
			}
		}
	case *ast.BinaryExpr:
		c.binary(n)
	case *ast.BasicLit:
		c.literal(n)
	case *ast.ReturnStmt:
		c.returned(n)
	case *ast.CallExpr:
		switch called(n) {
		case "Sync", "SyncDir", "sync", "syncDir":
			c.replace("sync", formNoError, n, "error(nil)")
		}
	case *ast.BlockStmt:
		c.statements(n.List)
	case *ast.CommClause:
		c.statements(n.Body)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			c.replace("negation", formTruth, n, c.text(n.X))
		}
	}
	return true
}

// swapped lists the replacements for each operator.
var swapped = map[token.Token][]string{
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"},
	token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
	token.AND: {"|"}, token.OR: {"&"}, token.SHL: {">>"}, token.SHR: {"<<"}, token.AND_NOT: {"&"},
}

// numeric lists the operators on numbers.
var numeric = []token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.SHL, token.SHR, token.AND_NOT}

func (c *collector) binary(n *ast.BinaryExpr) {
	x, y := c.text(n.X), c.text(n.Y)
	for _, op := range swapped[n.Op] {
		if n.Op == token.EQL && y == "nil" || n.Op == token.NEQ && y == "nil" {
			continue // the enclosing condition is changed as a whole
		}
		if slices.Contains(numeric, n.Op) {
			c.replace("operator", formOf(n.Op.String()), n, x+" "+op+" "+y)
			last := &c.out[len(c.out)-1]
			last.LeftEnd, last.RightStart, last.Op, last.ToOp = c.offset(n.X.End()), c.offset(n.Y.Pos()), n.Op.String(), op
			continue
		}
		c.replace("operator", formTruth, n, x+" "+op+" "+y)
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		off := map[token.Token]string{token.LAND: "true || ", token.LOR: "false && "}[n.Op]
		c.replace("operand", formTruth, n, "("+off+"("+x+")) "+n.Op.String()+" "+y)
		c.replace("operand", formTruth, n, x+" "+n.Op.String()+" ("+off+"("+y+"))")
	}
}

// literal changes a whole number by one. It does not change zeros, most of which are indexes or ends of ranges next to operators.
func (c *collector) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	if v, err := strconv.ParseInt(n.Value, 10, 32); err == nil && v > 0 {
		c.replace("number", formValue, n, strconv.FormatInt(v+1, 10))
	}
}

// returned drops an error or negates a boolean result.
func (c *collector) returned(n *ast.ReturnStmt) {
	for _, x := range n.Results {
		switch t := c.text(x); {
		case t == "true":
			c.replace("answer", formTruth, x, "false")
		case t == "false":
			c.replace("answer", formTruth, x, "true")
		case t == "err":
			c.replace("lost error", formValue, x, "error(nil)")
		}
	}
}

// statements removes one statement at a time, where the block compiles without it.
func (c *collector) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			f := formDropped
			if call, ok := s.X.(*ast.CallExpr); ok && called(call) == "panic" {
				f = formApart // a function can end there
			}
			c.replace("statement", f, s, "{}")
		case *ast.IncDecStmt, *ast.DeferStmt:
			c.replace("statement", formDropped, s, "{}")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				c.replace("statement", formDropped, s, "{}")
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
				c.replace("statement", formDropped, s, "{}")
			}
		}
	}
}

// isCondition reports whether a case of a switch is a condition rather than a value.
func isCondition(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return isCondition(x.X)
	case *ast.UnaryExpr:
		return x.Op == token.NOT
	case *ast.BinaryExpr:
		switch x.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR:
			return true
		}
	}
	return false
}

func called(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// apply returns the file with the change applied. It fails if the file differs from the one that was read.
func (c Change) apply(src []byte) ([]byte, error) {
	if c.End > len(src) || string(src[c.Start:c.End]) != c.From {
		return nil, fmt.Errorf("%s:%d: the file has changed since the mutants were drawn", c.File, c.Line)
	}
	return slices.Concat(src[:c.Start], []byte(c.To), src[c.End:]), nil
}
