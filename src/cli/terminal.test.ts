import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { streamTerminal, wantsColour } from './terminal.ts'

describe('colour', () => {
  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { TERM: 'dumb' }, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { FORCE_COLOR: '', NO_COLOR: '1' }, false],
    [true, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('on a terminal: %s, with %o: %s', (isTerminal, env, wanted) => {
    expect(wantsColour(isTerminal, env)).toBe(wanted)
  })
})

describe('streams', () => {
  const streams = (marks: object) => {
    const stdout = Object.assign(new PassThrough(), marks)
    const stderr = Object.assign(new PassThrough(), marks)
    return { stdout, stderr }
  }

  test('a pipe has no columns and is not watched', () => {
    const { stdout, stderr } = streams({})
    const none = { columns: null, errColumns: null, watched: false }
    expect(streamTerminal(stdout, stderr, {})).toMatchObject(none)
  })

  test.each([
    [132, 132],
    [0, 80],
    [undefined, 80],
  ])('a terminal that reports %s columns has %i', (columns, used) => {
    const { stdout, stderr } = streams({ isTTY: true, columns })
    const both = { columns: used, errColumns: used, watched: true }
    expect(streamTerminal(stdout, stderr, {})).toMatchObject(both)
  })

  test.each([
    [false, {}, 'json'],
    [false, { FORCE_COLOR: '1' }, 'json'],
    [true, {}, 'coloured'],
    [true, { NO_COLOR: '1' }, 'plain'],
    [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, 'coloured'],
    [true, { FORCE_COLOR: '0' }, 'plain'],
    [true, { TERM: 'dumb' }, 'plain'],
  ])('standard error that is a terminal (%s) with %o has a log that is %s', (isTTY, env, style) => {
    const { stdout, stderr } = streams({ isTTY })
    expect(streamTerminal(stdout, stderr, env).logStyle).toBe(style)
  })

  test('a reader that stops reading is noticed, and that is not a failure', () => {
    const { stdout, stderr } = streams({})
    const { gone } = streamTerminal(stdout, stderr, {})
    stdout.emit('error', Object.assign(new Error('gone'), { code: 'EPIPE' }))
    stderr.emit('error', Object.assign(new Error('gone'), { code: 'EPIPE' }))
    expect(gone.aborted).toBe(true)
  })

  test('output that cannot be written is said once, and its answer is known to be lost', () => {
    const { stdout, stderr } = streams({})
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    const terminal = streamTerminal(stdout, stderr, {})
    stderr.emit('error', full)
    stdout.emit('error', full)
    expect([terminal.lostAnswer(), terminal.gone.aborted]).toEqual([false, true])
    terminal.out('answer')
    stdout.emit('error', full)
    expect(terminal.lostAnswer()).toBe(true)
    expect(String(stderr.read())).toBe('holdfast: Standard output cannot be written (ENOSPC).\n')
  })
})
