import { describe, expect, test } from 'vitest'
import { commandOutput, outputBytesMax, tailBytes } from './command-output.ts'

/** As the guard keeps it. */
function outputOf(text: string | Buffer, secrets: readonly string[] = []) {
  const bytes = Buffer.from(text)
  const kept = tailBytes(secrets)
  return commandOutput(bytes.subarray(-kept), bytes.length > kept, secrets)
}

test('a short output is shown as it is', () => {
  expect(outputOf('one\ntwo\n')).toEqual({ output: 'one\ntwo\n', cutOff: false })
  expect(outputOf('')).toEqual({ output: '', cutOff: false })
})

test('colours, carriage returns and control characters are removed', () => {
  const written =
    '\u001b[31mred\u001b[0m 10%\r20%\r\n\u0000\u0007bell\u200b\u001b]0;title\u0007.\u001b(B\n'
  expect(outputOf(written).output).toBe('red 10%\n20%\nbell.\n')
})

test('a secret that the program did not finish is hidden, from eight characters on', () => {
  const secret = 'correct-horse-battery-staple'
  for (let length = 1; length < secret.length; length += 1) {
    const begun = secret.slice(0, length)
    const shown = length < 8 ? begun : '***'
    expect(outputOf(`a ${secret} ${begun}`, [secret]).output).toBe(`a *** ${shown}`)
    expect(outputOf(`${begun} b`, [secret]).output).toBe(`${begun} b`)
  }
})

test('the longest of several unfinished secrets is hidden', () => {
  const secrets = ['aaaaaaaaab', 'aaaaaaaaaaaaaaac']
  expect(outputOf(`x${'a'.repeat(12)}`, secrets).output).toBe('x***')
})

test('bytes that are not UTF-8 are replaced', () => {
  expect(outputOf(Buffer.from([0x61, 0xff, 0x62])).output).toBe('a\ufffdb')
})

describe('of a long output', () => {
  test.each([0, 1, 2, 3])('the last 64 KB are shown, in whole characters (%i)', (shift) => {
    const { output, cutOff } = outputOf(`${'€'.repeat(40_000)}${'.'.repeat(shift)}`)
    expect(cutOff).toBe(true)
    expect(output).toMatch(/^€+\.*$/)
    expect(Buffer.byteLength(output)).toBeGreaterThan(outputBytesMax - 3)
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(outputBytesMax)
  })

  test('what is a little more than 64 KB is cut too', () => {
    const { output, cutOff } = outputOf('x'.repeat(outputBytesMax + 1))
    expect({ length: output.length, cutOff }).toEqual({ length: outputBytesMax, cutOff: true })
  })

  test('a secret at the cut is hidden at each of its places', () => {
    const secret = 'correct-horse-battery-staple'
    for (let after = outputBytesMax - 40; after < outputBytesMax + 20; after += 1) {
      const { output } = outputOf(`${'x'.repeat(100_000)}${secret}${'.'.repeat(after)}`, [secret])
      expect(output).toMatch(/^x*\*{0,3}\.+$/)
    }
  })

  test('the end of a secret at the start of what was kept is not shown', () => {
    const secret = 'S'.repeat(5000)
    const kept = tailBytes([secret])
    for (const before of [1, 100, 4999]) {
      const rest = `!${'x'.repeat(kept - before - 1)}`
      const { output } = outputOf(`${'.'.repeat(100)}${secret.slice(-before)}${rest}`, [secret])
      expect(output).toMatch(/^x+$/)
    }
  })

  test('a known form at the cut is hidden, in one line or in several', () => {
    const token = `ghp_${'a1'.repeat(18)}`
    const lines = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n'.repeat(40)
    const key = `-----BEGIN PRIVATE KEY-----\n${lines}-----END PRIVATE KEY-----`
    for (const after of [outputBytesMax - 20, outputBytesMax - 700, outputBytesMax - 1300]) {
      const behind = `\n${'.'.repeat(after)}`
      expect(outputOf(`${' '.repeat(100_000)}${token}${behind}`).output).not.toContain('a1a1')
      expect(outputOf(`${' '.repeat(100_000)}${key}${behind}`).output).not.toContain('MII')
    }
  })

  test('the last lines stay, however much of the rest is secret', () => {
    const secret = 'key'.repeat(1000)
    const { output } = outputOf(`${`${secret}\n`.repeat(50)}error: it broke\n`, [secret])
    expect(output.endsWith('***\nerror: it broke\n')).toBe(true)
  })

  test.each([
    ['escape sequences without an end', '\u001b]'],
    ['addresses', 'https://a:'],
    ['tokens', 'ghp_ sk-'],
    ['carriage returns', '\r'],
    ['the start of a secret', 'aaaaaaaab'],
  ])('%s take no long time', (_what, written) => {
    const before = performance.now()
    outputOf(written.repeat(200_000), ['aaaaaaaac', 'a'.repeat(3000)])
    expect(performance.now() - before).toBeLessThan(3000)
  })
})
