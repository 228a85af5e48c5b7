package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
)

var commands = map[string]func(a []string) string{
	"say": func(a []string) string { return strings.TrimSpace(strings.Join(a, " ")) },

	"header":         func(a []string) string { return getHeader(a[0], a[1]) },
	"header-add":     func(a []string) string { return rawStatus(addHeader(a[0], a[1], a[2])) },
	"header-replace": func(a []string) string { return rawStatus(replaceHeader(a[0], a[1], spaced(a[2]))) },
	"header-remove":  func(a []string) string { return rawStatus(removeHeader(a[0], a[1])) },
	"headers":        func(a []string) string { return pairs(getHeaders(a[0])) },
	"headers-size":   func(a []string) string { return headersSize(a[0]) },
	"headers-set": func(a []string) string {
		return fail(proxywasm.ReplaceHttpRequestHeaders([][2]string{{"only", a[0]}}))
	},

	"body":         func(a []string) string { return getBody(a[0], integer(a[1]), integer(a[2])) },
	"body-size":    func(a []string) string { return bodySize(a[0]) },
	"body-set":     func(a []string) string { return rawStatus(setBody(a[0], integer(a[1]), integer(a[2]), "x")) },
	"body-append":  func(a []string) string { return changeBody(a[0], "append", a[1]) },
	"body-prepend": func(a []string) string { return changeBody(a[0], "prepend", a[1]) },
	"body-replace": func(a []string) string { return changeBody(a[0], "replace", a[1]) },

	"configuration": func([]string) string { return result(proxywasm.GetPluginConfiguration()) },
	"vm-configuration": func([]string) string {
		return result(proxywasm.GetVMConfiguration())
	},

	"shared-get": func(a []string) string {
		value, cas, err := proxywasm.GetSharedData(a[0])
		if err != nil {
			return fail(err)
		}
		return fmt.Sprintf("%s cas=%d", value, cas)
	},
	"shared-set": func(a []string) string {
		return fail(proxywasm.SetSharedData(a[0], []byte(a[1]), uint32(integer(a[2]))))
	},
	"shared-add": func(a []string) string { return sharedAdd(a[0]) },

	"metric-define":    func(a []string) string { return defineMetric(a[0], a[1]) },
	"metric-increment": func(a []string) string { return rawStatus(incrementMetric(id(a[0]), int64(integer(a[1])))) },
	"metric-record":    func(a []string) string { return rawStatus(recordMetric(id(a[0]), uint64(integer(a[1])))) },
	"metric-get":       func(a []string) string { return getMetric(a[0]) },

	"property": func(a []string) string {
		value, err := proxywasm.GetProperty(strings.Split(a[0], "."))
		if err != nil {
			return fail(err)
		}
		return fmt.Sprintf("%q", value)
	},
	"property-set": func(a []string) string {
		return fail(proxywasm.SetProperty(strings.Split(a[0], "."), []byte(a[1])))
	},

	"hosts":    func([]string) string { return pairs(proxywasm.GetUpstreamHosts()) },
	"override": func(a []string) string { return fail(proxywasm.SetUpstreamOverrideHost([]byte(a[0]))) },

	"ticks":     func(a []string) string { return fail(proxywasm.SetTickPeriodMilliSeconds(uint32(integer(a[0])))) },
	"effective": func(a []string) string { return fail(proxywasm.SetEffectiveContext(uint32(integer(a[0])))) },
	"finish":    func([]string) string { proxywasm.PluginDone(); return "ok" },
	"foreign": func(a []string) string {
		value, err := proxywasm.CallForeignFunction(a[0], nil)
		if err != nil {
			return fail(err)
		}
		return hex.EncodeToString(value)
	},

	"continue": func(a []string) string {
		if a[0] == "request" {
			return fail(proxywasm.ResumeHttpRequest())
		}
		return fail(proxywasm.ResumeHttpResponse())
	},
	"continue-raw": func(a []string) string { return rawStatus(continueStream(uint32(integer(a[0])))) },
	"close":        func(a []string) string { return rawStatus(closeStream(uint32(integer(a[0])))) },
	"reply": func(a []string) string {
		return fail(proxywasm.SendHttpResponseWithDetail(
			uint32(integer(a[0])), spaced(a[1]), [][2]string{{"From", "probe"}}, []byte(a[2]), -1))
	},
	"inject": func(a []string) string {
		return fail(proxywasm.InjectEncodedDataToFilterChain([]byte(a[0]), a[1] == "end"))
	},

	"http": func(a []string) string {
		_, err := proxywasm.DispatchHttpCall(a[0], [][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "a"}}, []byte(a[1]), nil, 100,
			func(headers, body, trailers int) {
				answered(fmt.Sprintf("http answer headers=%d body=%d trailers=%d", headers, body, trailers))
			})
		return fail(err)
	},
	"http-incomplete": func(a []string) string {
		_, err := proxywasm.DispatchHttpCall(a[0], [][2]string{{":method", "GET"}, {":path", "/"}}, nil, nil, 100, func(int, int, int) {})
		return fail(err)
	},
	"http-response": func([]string) string { return pairs(proxywasm.GetHttpCallResponseHeaders()) },
	"http-trailers": func([]string) string { return pairs(proxywasm.GetHttpCallResponseTrailers()) },
	"http-body":     func([]string) string { return result(proxywasm.GetHttpCallResponseBody(0, 1000)) },
	"redis-init": func(a []string) string {
		return fail(proxywasm.RedisInit(a[0], strings.TrimPrefix(a[1], "-"), a[2], 1000))
	},
	"redis-call": func(a []string) string {
		_, err := proxywasm.DispatchRedisCall(a[0], []byte(strings.Join(a[1:], " ")+"\r\n"), func(status, size int) {
			answered(fmt.Sprintf("redis answer status=%d size=%d", status, size))
		})
		return fail(err)
	},
	"redis-reply": func([]string) string { return result(proxywasm.GetRedisCallResponse(0, 1000)) },
	"grpc":        func(a []string) string { return grpc(a[0]) },
	"grpc-call":   func(a []string) string { return grpcOpen(a[0]) },
	"grpc-stream": func(a []string) string { return grpcOpenStream(a[0]) },
	"grpc-send":   func(a []string) string { return rawStatus(grpcSend(uint32(integer(a[0])), nil, 0, 0)) },
	"grpc-close":  func(a []string) string { return rawStatus(grpcClose(uint32(integer(a[0])))) },
	"grpc-cancel": func(a []string) string { return rawStatus(grpcCancel(uint32(integer(a[0])))) },
	"status":      func([]string) string { return lastStatus() },
	"queue-register": func([]string) string {
		_, err := proxywasm.RegisterSharedQueue("q")
		return fail(err)
	},
	"queue-resolve": func([]string) string {
		_, err := proxywasm.ResolveSharedQueue("", "q")
		return fail(err)
	},
	"queue-put":  func([]string) string { return fail(proxywasm.EnqueueSharedQueue(1, []byte("x"))) },
	"queue-take": func([]string) string { return result(proxywasm.DequeueSharedQueue(1)) },

	"log-level": func([]string) string { return logLevel() },
	"log": func(a []string) string {
		return rawStatus(logRaw(uint32(integer(a[0])), a[1]))
	},
	"time":  func([]string) string { return hostTime() },
	"clock": func([]string) string { return fmt.Sprintf("monotonic=%d wall=%d", monotonic(), time.Now().UnixNano()) },
	"sleep": func(a []string) string {
		time.Sleep(time.Duration(integer(a[0])) * time.Millisecond)
		return "awake"
	},
	"random": func([]string) string {
		bytes := make([]byte, 8)
		_, err := rand.Read(bytes)
		return result([]byte(hex.EncodeToString(bytes)), err)
	},
	"env":   func(a []string) string { return os.Getenv(a[0]) },
	"print": func(a []string) string { fmt.Println(a[0]); return "ok" },
	"write": func(a []string) string { os.Stdout.WriteString(a[0]); return "ok" },
	"panic": func(a []string) string { panic(a[0]) },
	"nil-read": func([]string) string {
		return rawStatus(badPointer())
	},
}

// spaced lets an argument have blanks, for which it has "+".
func spaced(text string) string { return strings.ReplaceAll(text, "+", " ") }

// answered is runAnswer; a variable, since a command needs what runs commands.
var answered func(what string)

// runAnswer logs an answer and runs what shared data holds under "answer".
func runAnswer(what string) {
	logf("%s", what)
	script, _, err := proxywasm.GetSharedData("answer")
	if err != nil {
		return
	}
	run(string(script))
}

// sharedAdd counts under a key, with the retries of a CAS loop.
func sharedAdd(key string) string {
	for try := 0; ; try++ {
		value, cas, err := proxywasm.GetSharedData(key)
		if err != nil {
			return fail(err)
		}
		next := fmt.Sprint(integer(string(value)) + 1)
		if err := proxywasm.SetSharedData(key, []byte(next), cas); err == nil {
			return fmt.Sprintf("%s after %d retries", next, try)
		}
	}
}
