package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// ran is what a script leaves behind.
type ran struct {
	action       types.Action
	refuse, keep bool
}

// run executes "command argument argument; command …" and logs each result as
// "command -> result".
func run(script string) ran {
	var out ran
	for _, line := range strings.Split(script, ";") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "return":
			action, _ := strconv.Atoi(words[1])
			out.action = types.Action(action)
		case "refuse":
			logWarn("refused: " + strings.Join(words[1:], " "))
			out.refuse = true
		case "keep":
			out.keep = true
		default:
			logf("%s -> %s", strings.Join(words, " "), execute(words))
		}
	}
	return out
}

func execute(words []string) string {
	command, found := commands[words[0]]
	if !found {
		return "no such command"
	}
	arguments := append(words[1:], "", "", "")
	return command(arguments)
}

func logf(format string, arguments ...any) { proxywasm.LogInfo(fmt.Sprintf(format, arguments...)) }

func logWarn(message string) { proxywasm.LogWarn(message) }

func result(value []byte, err error) string {
	if err != nil {
		return fail(err)
	}
	return string(value)
}

func fail(err error) string {
	if err == nil {
		return "ok"
	}
	return "error: " + strings.TrimPrefix(err.Error(), "error status returned by host: ")
}

func pairs(list [][2]string, err error) string {
	if err != nil {
		return fail(err)
	}
	var out []string
	for _, pair := range list {
		out = append(out, pair[0]+"="+pair[1])
	}
	return strings.Join(out, " ")
}

func integer(text string) int {
	value, _ := strconv.Atoi(text)
	return value
}
