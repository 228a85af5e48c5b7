package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span, or a moment counted from the start of the run. In a
// scenario file it is text with a unit: 70s, 1m30s, 500ms.
type Duration time.Duration

// UnmarshalJSON refuses bare numbers and negative values.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	text, ok := jsonText(raw)
	if !ok {
		return fmt.Errorf(`given %s; should be a duration with a unit, such as "70s"`, excerpt(raw))
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf(`given %q; should be a duration with a unit, such as "70s", "1m30s" or "500ms", and at most 1000h`, text)
	}
	if value < 0 {
		return fmt.Errorf("given %q; should not be negative", text)
	}
	if Duration(value) > maxDuration {
		return fmt.Errorf("given %q; should be at most 1000h", text)
	}
	*d = Duration(value)
	return nil
}

// String prints the duration as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

// SignedDuration is a Duration that may be negative: "-1h" is an hour back.
type SignedDuration time.Duration

// UnmarshalJSON refuses bare numbers.
func (d *SignedDuration) UnmarshalJSON(raw []byte) error {
	text, _ := jsonText(raw)
	value, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf(`given %s; should be a duration with a unit, such as "1h" or "-1h", and at most 1000h`, excerpt(raw))
	}
	if value > time.Duration(maxDuration) || value < -time.Duration(maxDuration) {
		return fmt.Errorf("given %q; should be -1000h to 1000h", text)
	}
	*d = SignedDuration(value)
	return nil
}

// String prints the duration as Go does.
func (d SignedDuration) String() string { return time.Duration(d).String() }

// Percent is a part of a hundred. In a scenario file it is text with its sign: 30%.
type Percent float64

// UnmarshalJSON refuses bare numbers, because 0.3 and 30 are easily mistaken.
func (p *Percent) UnmarshalJSON(raw []byte) error {
	text, _ := jsonText(raw)
	digits, hasSign := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(digits, 64)
	plain := strings.Trim(digits, "0123456789.") == "" // ParseFloat also knows NaN, 1e1 and 0x10
	if !hasSign || !plain || err != nil || value > 100 {
		return fmt.Errorf(`given %s; should be a percentage from "0%%" to "100%%", such as "30%%"`, excerpt(raw))
	}
	*p = Percent(value)
	return nil
}

// String prints one decimal at most.
func (p Percent) String() string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(p), 'f', 1, 64), ".0") + "%"
}

// jsonText returns the text of a JSON string.
func jsonText(raw []byte) (text string, ok bool) {
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", false
	}
	return text, true
}
