package liveview

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
)

var update = flag.Bool("update", false, "write the golden views anew")

func TestTheViewIsAsRecordedInEachPhase(t *testing.T) {
	moments := map[string]time.Duration{
		"healthy": 3 * time.Second, "slow": 9 * time.Second, "blocked": 13_900 * ms,
		"healed": 16 * time.Second, "returned": 20 * time.Second,
	}
	sizes := [][2]int{{80, 24}, {120, 40}}
	for name, moment := range moments {
		for _, size := range sizes {
			file := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, size[0]))
			t.Run(file, func(t *testing.T) {
				got := screenOf(story(t, moment), size[0], size[1]).plain() + "\n"
				if *update {
					require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(want), got)
			})
		}
	}
}

func TestTheTitleNamesTheGatewayAndHasRoom(t *testing.T) {
	s := story(t, 3*time.Second)
	for gateway, title := range map[demo.Gateway]string{
		demo.Envoy:    "endpoint-breaker on Envoy 1.40.0: one of 3 servers turns slow ",
		demo.Embedded: "endpoint-breaker on the embedded gateway: one of 3 servers turns slow ",
	} {
		s.Setting.Gateway = gateway
		first, _, _ := strings.Cut(screenOf(s, 80, 24).plain(), "\n")
		assert.True(t, strings.HasPrefix(first, title), first)
		assert.True(t, strings.HasSuffix(first, " q quits"), first)
	}
}

func TestTheTimeOfABlockCountsDown(t *testing.T) {
	for now, want := range map[time.Duration]string{
		12_600 * ms: "■ blocked 4.5 s left", 13_900 * ms: "■ blocked 3.2 s left",
		17_050 * ms: "■ blocked 0.1 s left", 17_100 * ms: "◆ returned",
	} {
		assert.Contains(t, screenOf(story(t, now), 80, 24).plain(), want)
	}
}

func TestAStateHasAWordASymbolAndAColorOfItsOwn(t *testing.T) {
	words, symbols, colors := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, phase := range []demo.Phase{demo.Healthy, demo.Slow, demo.Blocked, demo.Returned} {
		symbol, word, found := strings.Cut(condition(demo.EndpointState{Phase: phase}, 0), " ")
		require.True(t, found)
		assert.True(t, strings.HasPrefix(word, phase.String()))
		words[word], symbols[symbol], colors[roleOf(phase).color()] = true, true, true
	}
	assert.Len(t, words, 4)
	assert.Len(t, symbols, 4)
	assert.Len(t, colors, 4)
}

func TestNoLineIsWiderThanTheTerminalAndNoneIsTooMany(t *testing.T) {
	s := story(t, 20*time.Second)
	for width := range 200 {
		for _, height := range []int{0, 1, 10, 24, 60} {
			lines := screenOf(s, width, height)
			assert.LessOrEqual(t, len(lines), height)
			for _, line := range lines {
				assert.LessOrEqual(t, line.width(), width)
			}
		}
	}
}

func TestColorsChangeNothingButTheLooks(t *testing.T) {
	screen := screenOf(story(t, 14*time.Second), 80, 24)
	sequences := regexp.MustCompile("\x1b\\[[0-9;]*m")
	assert.Equal(t, screen.plain(), sequences.ReplaceAllString(screen.ansi(), ""))
	assert.Regexp(t, sequences, screen.ansi())
}

func TestTheLatestEventsAreKeptWhenThereIsNoRoomForAll(t *testing.T) {
	all := make([]demo.Event, 30)
	for i := range all {
		all[i] = demo.Event{Kind: demo.EventHeal, At: time.Duration(i) * time.Second, Text: "heals"}
	}
	assert.Equal(t, "   28.0 s  ► heals\n   29.0 s  ► heals", events(all, 80, 2).plain())
	assert.Empty(t, events(all, 80, -3))
}

func TestAnEventCanNotMoveTheCursorAndIsWrapped(t *testing.T) {
	event := demo.Event{Text: "log of worker 0:\x1b[2J\r" + strings.Repeat(" word", 20)}
	lines := events([]demo.Event{event}, 80, 9)
	assert.Len(t, lines, 2)
	for _, line := range lines {
		assert.True(t, strings.HasPrefix(line[0].text, "             "))
		assert.NotContains(t, line[1].text, "\x1b")
		assert.NotContains(t, line[1].text, "\r")
	}
}

func TestAMarkWithoutRoomForItsLabelIsAnArrow(t *testing.T) {
	s := story(t, 20*time.Second)
	assert.Contains(t, marks(s, 160)[1].text, "↑heal")
	narrow := marks(s, 80)[1].text
	assert.NotContains(t, narrow, "heal")
	assert.Equal(t, 4, strings.Count(narrow, "↑"))
	for _, label := range []string{"↑fault", "↑block", "↑return"} {
		assert.Contains(t, narrow, label)
	}
}

func TestAShareIsDrawnInHalvesOfACell(t *testing.T) {
	for share, want := range map[float64]string{0: "────", 0.125: "╸───", 0.5: "━━──", 0.9: "━━━╸", 1: "━━━━"} {
		assert.Equal(t, want, screen{shareBar(share, 4, healthy)}.plain())
	}
}

func TestAStoryThatLastsLongerThanPlannedStaysInItsWidth(t *testing.T) {
	s := story(t, 20*time.Second)
	s.At = 60 * time.Second
	assert.LessOrEqual(t, course(s, 0, 80).width(), 80)
	assert.Equal(t, 80, marks(s, 80).width())
}
