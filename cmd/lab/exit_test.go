package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAWrongCallExitsWith2(t *testing.T) {
	for name, args := range map[string][]string{
		"a command is missing":                        {},
		`unknown command "foo"`:                       {"foo"},
		"unknown flag: --nope":                        {"demo", "--nope"},
		`unknown command "more"`:                      {"demo", "more"},
		"invalid argument":                            {"demo", "--rate", "many"},
		"none of the others can be":                   {"demo", "--scale", "5", "--real-time"},
		"scale: 1000 given":                           {"demo", "--scale", "1000"},
		"rate: 0.001 requests per second given":       {"demo", "--scale", "50", "--rate", "0.001"},
		"rate: +Inf requests per second given":        {"demo", "--rate", "Inf"},
		"rate: NaN requests per second given":         {"demo", "--rate", "NaN"},
		"workers: 65 given, it goes from 1 to 64":     {"demo", "--workers", "65"},
		"with 16 workers at scale 10 it goes from 62": {"demo", "--workers", "16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runLab(t, args...)
			require.ErrorContains(t, err, name)
			assert.Equal(t, misused, exitCode(err))
		})
	}
}

func TestWithoutACommandTheHelpIsShown(t *testing.T) {
	out, err := runLab(t)
	require.Error(t, err)
	assert.Contains(t, out, "Available Commands:")
}

func TestACommandThatFailsExitsWith1(t *testing.T) {
	_, err := runLab(t, "demo", "--out", t.TempDir())
	assert.Equal(t, failed, exitCode(err))
}
