package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func recorded() (l *logs, lines *[]string) {
	lines = &[]string{}
	write := func(level string) func(string) {
		return func(line string) { *lines = append(*lines, level+line) }
	}
	return newLogs(write(""), write("info: ")), lines
}

func TestALineNamesThePluginAndAFixedKeyword(t *testing.T) {
	l, lines := recorded()
	l.always(logBlock, "endpoint=%s for=%s", hostA, "45s")
	assert.Equal(t, []string{"endpoint-breaker block endpoint=10.0.0.1:8000 for=45s"}, *lines)
}

func TestALineIsOneLine(t *testing.T) {
	l, lines := recorded()
	l.always(logError, "%s", "a\r\nb")
	assert.Equal(t, []string{`endpoint-breaker error a\r\nb`}, *lines)
}

func TestWhatComesWithEveryRequestIsWrittenEveryTenSeconds(t *testing.T) {
	l, lines := recorded()
	for tenth := range 100 {
		l.limited(logBypass, "c", at(float64(tenth)/10), "cluster=c")
	}
	l.limited(logError, "c", at(9), "another keyword")
	l.limited(logBypass, "d", at(9), "cluster=d")
	l.limited(logBypass, "c", at(10), "cluster=c")
	l.limited(logBypass, "c", at(20), "cluster=c")
	assert.Equal(t, []string{
		"endpoint-breaker bypass cluster=c",
		"endpoint-breaker error another keyword",
		"endpoint-breaker bypass cluster=d",
		"endpoint-breaker bypass cluster=c suppressed=99",
		"endpoint-breaker bypass cluster=c",
	}, *lines)
}

func TestALogThatFailsIsNoReasonToFail(t *testing.T) {
	l := newLogs(func(string) { panic("the host is gone") }, nil)
	assert.NotPanics(t, func() { l.always(logError, "x") })
}

func TestWhatIsExpectedIsInformation(t *testing.T) {
	l, lines := recorded()
	l.expected(logConfig, "accepted version=%s", "0")
	assert.Equal(t, []string{"info: endpoint-breaker config accepted version=0"}, *lines)
}
