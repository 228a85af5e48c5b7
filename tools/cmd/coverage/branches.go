package main

import (
	"go/ast"
	"go/token"
)

// A profile counts statements, so it is silent about branches that have none: an
// `if` without `else` whose condition was never false, and a `switch` without
// `default` where a case always fitted. The counts tell nevertheless: such a
// statement ran no more often than what it guards.
//
// The parts of a condition (`a && b`) and the empty run of a loop are not seen.

// emptyBranches returns the statements in a function's body whose empty branch was never taken, each
// with what was not seen. The blocks are in the order of the source.
func emptyBranches(body *ast.BlockStmt, set *token.FileSet, blocks []block) []string {
	var missed []string
	for node := range ast.Preorder(body) {
		var guarded []span
		var complaint string
		switch s := node.(type) {
		case *ast.IfStmt:
			if s.Else == nil {
				guarded = []span{{at(set, s.Body.Lbrace), at(set, s.Body.End())}}
			}
			complaint = "the condition was never false in a test"
		case *ast.SwitchStmt:
			guarded = cases(s.Body, set)
			complaint = "in the tests a case always fitted"
		case *ast.TypeSwitchStmt:
			guarded = cases(s.Body, set)
			complaint = "in the tests a case always fitted"
		}
		if len(guarded) == 0 {
			continue
		}

		place := at(set, node.Pos())
		entered := 0
		for _, g := range guarded {
			entered += runsInside(g, blocks)
		}
		if ran := runsAround(place, blocks); ran > 0 && entered >= ran {
			missed = append(missed, place.String()+": "+complaint)
		}
	}
	return missed
}

// span is what lies between two positions; the end is not in it.
type span struct{ start, end position }

// cases returns the bodies of a switch, none if it has a default.
func cases(body *ast.BlockStmt, set *token.FileSet) []span {
	var bodies []span
	for _, statement := range body.List {
		clause, ok := statement.(*ast.CaseClause)
		if !ok || clause.List == nil {
			return nil
		}
		// The end of an empty body is its colon; its block begins behind that.
		end := at(set, clause.End())
		bodies = append(bodies, span{at(set, clause.Colon), position{end.line, end.column + 1}})
	}
	return bodies
}

// runsInside is how often the first block within the span ran.
func runsInside(s span, blocks []block) int {
	for _, b := range blocks {
		if b.start.compare(s.start) >= 0 && b.start.compare(s.end) < 0 {
			return b.runs
		}
	}
	return 0
}

// runsAround is how often the block ran that the place lies in.
func runsAround(place position, blocks []block) int {
	runs := 0
	for _, b := range blocks {
		if b.start.compare(place) > 0 {
			break
		}
		if place.compare(b.end) < 0 {
			runs = b.runs
		}
	}
	return runs
}

// at translates a position of the parser into one of the profile.
func at(set *token.FileSet, p token.Pos) position {
	full := set.Position(p)
	return position{full.Line, full.Column}
}
