package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// named is a configuration value that is one of several names.
type named interface {
	~uint8
	names() []string
}

func enumValue[T named](field *T) keySetter {
	return func(value gjson.Result) *wrongValue {
		names := (*field).names()
		i := slices.Index(names, value.Str) // no name is empty, as Str of other types is
		if i < 0 {
			return &wrongValue{given: describeJSON(value), want: oneOf(quoteAll(names)) + nearestOf(value.Str, names)}
		}
		*field = T(i)
		return nil
	}
}

// modeValue takes false for off: that is what YAML makes of a bare `off`, and a resource goes
// through YAML.
func (d *ruleDraft) modeValue(value gjson.Result) *wrongValue {
	if value.Type == gjson.False {
		d.mode = modeOff
		return nil
	}
	return enumValue(&d.mode)(value)
}

func integerValue(field *int, least, most int) keySetter {
	return func(value gjson.Result) *wrongValue {
		n, err := strconv.Atoi(value.Raw)
		if err != nil || n < least || n > most {
			return &wrongValue{given: describeJSON(value), want: fmt.Sprintf("an integer from %d to %d", least, most)}
		}
		*field = n
		return nil
	}
}

// durationSpan is a range of durations, its ends included.
type durationSpan struct {
	least, most time.Duration
	orZero      bool // 0s is allowed too
}

// positive is everything above zero up to most.
func positive(most time.Duration) durationSpan { return durationSpan{least: 1, most: most} }

func (s durationSpan) contains(d time.Duration) bool {
	return s.least <= d && d <= s.most || s.orZero && d == 0
}

func (s durationSpan) String() string {
	switch {
	case s.orZero:
		return fmt.Sprintf("0s or from %s to %s", shortDuration(s.least), shortDuration(s.most))
	case s.least == 1:
		return "above 0s and at most " + shortDuration(s.most)
	default:
		return fmt.Sprintf("from %s to %s", shortDuration(s.least), shortDuration(s.most))
	}
}

func durationValue(field *time.Duration, limits durationSpan) keySetter {
	return func(value gjson.Result) *wrongValue {
		parsed, ok := withUnit(value)
		if ok && limits.contains(parsed) {
			*field = parsed
			return nil
		}
		want := "a duration with a unit, " + limits.String()
		if seconds := value.String() + "s"; !ok && isWithin(seconds, limits) {
			want = "a duration with a unit such as " + quoteShort(seconds)
		}
		return &wrongValue{given: describeJSON(value), want: want}
	}
}

// withUnit returns the duration that a JSON string holds; Str of other types is
// empty, which is no duration. The zero without a unit, which Go accepts, is none.
func withUnit(value gjson.Result) (time.Duration, bool) {
	if strings.Trim(value.Str, "+-") == "0" {
		return 0, false
	}
	d, err := time.ParseDuration(value.Str)
	return d, err == nil
}

func isWithin(text string, limits durationSpan) bool {
	d, err := time.ParseDuration(text)
	return err == nil && limits.contains(d)
}

func booleanValue(field *bool) keySetter {
	return func(value gjson.Result) *wrongValue {
		if !value.IsBool() {
			return &wrongValue{given: describeJSON(value), want: "true or false"}
		}
		*field = value.Bool()
		return nil
	}
}

func ignoredKey(gjson.Result) *wrongValue { return nil }

func (d *ruleDraft) ruleEntries(value gjson.Result) *wrongValue {
	if value.Type != gjson.Null && !value.IsArray() {
		return &wrongValue{given: describeJSON(value), want: "an array of objects"}
	}
	d.entries = value.Array()
	return nil
}

// matchNames is stricter than the gateway, which turns anything into names and
// leaves out the empty ones.
func (d *ruleDraft) matchNames(key string) keySetter {
	return func(value gjson.Result) *wrongValue {
		if value.Type != gjson.Null && !value.IsArray() {
			d.matches[key] = append(d.matches[key], value.String())
			return &wrongValue{given: describeJSON(value), want: "an array of non-empty strings"}
		}
		for i, name := range value.Array() {
			d.matches[key] = append(d.matches[key], name.Str)
			if name.Str == "" {
				return &wrongValue{at: fmt.Sprintf("[%d]", i), given: describeJSON(name), want: "a non-empty string"}
			}
		}
		return nil
	}
}
