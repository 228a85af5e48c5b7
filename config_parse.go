package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// The bounds of a configuration's text. Ours is four levels deep; the gateway's
// own JSON parser, which reads the text after us, recurses on the VM's stack.
const (
	maxConfigurationBytes = 4 << 20
	maxNesting            = 32
)

// parseRoot returns the configuration's object, without members for empty bytes and null.
func parseRoot(configuration []byte) (gjson.Result, error) {
	if len(configuration) == 0 {
		return gjson.Parse("{}"), nil
	}
	if len(configuration) > maxConfigurationBytes {
		return gjson.Result{}, fmt.Errorf("configuration: got %d bytes, want at most %d", len(configuration), maxConfigurationBytes)
	}
	var text json.RawMessage
	if syntax, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(configuration, &text)); broken {
		return gjson.Result{}, fmt.Errorf("configuration: got invalid JSON at byte %d (%w), want an object", syntax.Offset, syntax)
	}
	if nesting(text) > maxNesting {
		return gjson.Result{}, fmt.Errorf("configuration: got more than %d nested objects and arrays, want fewer", maxNesting)
	}
	root := gjson.ParseBytes(text)
	switch {
	case root.Type == gjson.Null:
		return gjson.Parse("{}"), nil
	case !root.IsObject():
		return gjson.Result{}, fmt.Errorf("configuration: got %s, want an object", describeJSON(root))
	}
	return root, nil
}

// nesting returns how many objects and arrays stand in each other at the deepest place of valid JSON.
func nesting(valid []byte) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(valid); i++ {
		switch c := valid[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// hasGlobalPart reports whether the gateway's rule matcher, given some rules,
// finds a global configuration beside them: any other key makes one, save a
// _plugin_id_, which the gateway takes out before unless it is empty.
func hasGlobalPart(root gjson.Result) bool {
	found := false
	root.ForEach(func(key, value gjson.Result) bool {
		removed := key.Str == pluginIDKey && value.String() != ""
		found = key.Str != rulesKey && !removed
		return !found
	})
	return found
}

// configParser collects what there is to say about a configuration.
type configParser struct {
	problems configError
	warnings []string
}

func (p *configParser) refuse(path string, wrong wrongValue) {
	p.problems.add(path+wrong.at, wrong.String())
}

func (p *configParser) warn(path, text string) {
	p.warnings = append(p.warnings, path+": "+text)
}

// entry reads one element of _rules_, which inherits from top what it does not name.
func (p *configParser) entry(path string, entry gjson.Result, top *ruleDraft) *rule {
	d := top.heir()
	if !entry.IsObject() {
		p.refuse(path, wrongValue{given: describeJSON(entry), want: "an object"})
		return d.effective()
	}
	p.object(path, entry, &d)
	if len(d.matches) == 0 {
		want := oneOf(d.keys().names(inEntry, isMatchKey)) + " with an array of non-empty strings"
		p.refuse(path, wrongValue{given: "nothing to match", want: want})
	}
	p.matches(path, &d)
	p.relations(path, &d, top)
	r := d.effective()
	p.minSlowRequests(path, entry, r)
	return r
}

// minSlowRequests warns of an object that asks for a number of requests when none of the rules that
// it is meant for asks for a share of them.
func (p *configParser) minSlowRequests(path string, object gjson.Result, rules ...*rule) {
	given := object.Get(minSlowRequestsKey)
	if !given.Exists() || given.Int() == int64(defaultDraft().minSlowRequests) {
		return
	}
	if !slices.ContainsFunc(rules, func(r *rule) bool { return r.minSlowPercent > 0 }) {
		p.warn(memberPath(path, minSlowRequestsKey), "has no effect while min_slow_percent is 0")
	}
}

// matches warns of names that the gateway will not look at (wasm-go's rule matcher): of several
// kinds it takes one, only route and service together, and a request's host comes without port.
func (p *configParser) matches(path string, d *ruleDraft) {
	taken := ""
	for _, key := range []string{matchRouteKey, matchDomainKey, matchServiceKey, matchPrefixKey} {
		switch {
		case len(d.matches[key]) == 0 || taken == matchRouteKey && key == matchServiceKey:
		case taken == "":
			taken = key
		default:
			p.warn(memberPath(path, key), "ignored by the gateway beside "+taken)
		}
	}
	for _, domain := range d.matches[matchDomainKey] {
		if strings.Contains(domain, ":") {
			p.warn(memberPath(path, matchDomainKey), "got "+quoteShort(domain)+", want it without a port: the gateway compares hosts only")
		}
	}
}

// object reads the members of an object into d.
func (p *configParser) object(path string, object gjson.Result, d *ruleDraft) {
	keys := d.keys()
	seen := map[string]bool{}
	object.ForEach(func(key, value gjson.Result) bool {
		at := memberPath(path, key.Str)
		if seen[key.Str] {
			p.refuse(at, wrongValue{given: "the key twice", want: "it once"})
			return true
		}
		seen[key.Str] = true
		p.member(at, key.Str, value, keys, d)
		return true
	})
}

func (p *configParser) member(path, name string, value gjson.Result, keys keyTable, d *ruleDraft) {
	key, known := keys.find(name)
	switch {
	case !known && isGatewayKey(name):
		p.warn(path, "unknown key, ignored"+nearestOf(name, keys.names(d.place, isGatewayKey)))
	case !known:
		p.refuse(path, unknownKey(name, keys.names(d.place, isOwnKey)))
	case key.scope == anywhere || key.scope == d.place:
		wrong := key.set(value)
		d.refused[name] = wrong != nil
		if wrong != nil {
			p.refuse(path, *wrong)
		}
	case d.place == inEntry:
		p.problems.add(path, "may stand at the top only")
	default:
		p.warn(path, "ignored, may stand in an entry of _rules_ only")
	}
}

func unknownKey(name string, known []string) wrongValue {
	wrong := wrongValue{given: "an unknown key", want: "one of " + strings.Join(known, ", ")}
	if nearest := nearestName(name, known); nearest != "" {
		wrong.want = nearest + " perhaps"
	}
	return wrong
}

// relations checks the values of d that depend on each other. What d has from
// its parent was said there and is not said again.
func (p *configParser) relations(path string, d, parent *ruleDraft) {
	for _, r := range configRelations() {
		wrong := r.verdict(d)
		if inherited := r.verdict(parent); wrong == nil || inherited != nil && *wrong == *inherited {
			continue
		}
		if at := memberPath(path, r.keys[0]); r.warning {
			p.warn(at, wrong.String())
		} else {
			p.refuse(at, *wrong)
		}
	}
}
