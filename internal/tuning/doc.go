// Package tuning finds out what the keys about return and evidence cost and bring: it plays the
// shipped plugin in the embedded gateway, in virtual time, and makes the tables and pictures of
// docs/tuning.md. The same sources give the same figures.
//
// stage.go makes the scenarios for package sim, return.go, together.go, evidence.go and hiccup.go
// each fill one table, tables.go writes them, pages.go puts them into the documents.
package tuning
