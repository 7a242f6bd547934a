/**
 * The output of a command as people may read it: plain text without escape sequences, invisible
 * characters or secrets, at most its last 64 KB.
 *
 * What must hold: a secret that the cut goes through is not shown, and nothing after it is lost. So
 * more than 64 KB is kept (`tailBytes`) and secrets are hidden in all of it. Then what was kept in
 * addition is dropped, and with it what may be the end of a secret that nobody can recognise. A
 * program may end in the middle of a secret: the beginning of one at the very end is hidden, too.
 */
import { hideSecrets } from '../../texts/hide-secrets.ts'
import { withoutInvisible } from '../../texts/invisible-text.ts'
import { longestValueBytes, maskCutOffFor, maskFor } from '../../texts/mask-values.ts'

export const outputBytesMax = 64 * 1024

/** Longer than a private key, the longest secret that is recognised by its form. */
const marginMin = 8 * 1024

/** How many bytes of output have to be kept. */
export function tailBytes(secrets: readonly string[]): number {
  return outputBytesMax + marginOf(secrets)
}

function marginOf(secrets: readonly string[]): number {
  return marginMin + longestValueBytes(secrets)
}

export interface CommandOutput {
  readonly output: string
  readonly cutOff: boolean
}

/** `tail` has at most `tailBytes`; `cutOff` says that there was more before it. */
export function commandOutput(
  tail: Uint8Array,
  cutOff: boolean,
  secrets: readonly string[],
): CommandOutput {
  const values = secrets.map(plainText)
  const hide = (bytes: Uint8Array, mask: (text: string) => string): Buffer =>
    Buffer.from(hideSecrets(mask(plainText(new TextDecoder().decode(bytes)))))
  const hidden = hide(tail, maskCutOffFor(values))
  const beforeEnd = tail.subarray(0, marginOf(secrets))
  const margin = cutOff ? hide(beforeEnd, maskFor(values)) : Buffer.alloc(0)
  // Where a secret goes on behind the margin, the two differ from its first character on.
  const dropped = commonLength(margin, hidden)
  const start = characterStart(hidden, Math.max(dropped, hidden.length - outputBytesMax))
  return { output: hidden.toString('utf8', start), cutOff: cutOff || start > 0 }
}

function commonLength(one: Buffer, other: Buffer): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

/**
 * What a program sends to a terminal besides text: titles and the like up to their end or that of
 * the line, colours and cursor movements, and all others. Each begins with one character and ends
 * before the next one, so the time grows with the length of the text.
 */
const escapeSequence = new RegExp(
  [
    String.raw`\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?`,
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    String.raw`\u001b[ -/]*[0-~]?`,
  ].join('|'),
  'g',
)

/** A line that was written over with a carriage return stays, on a line of its own. */
function plainText(text: string): string {
  return withoutInvisible(text.replaceAll(escapeSequence, '').replaceAll(/\r\n?/g, '\n'))
}

/** The first place from `at` on where a character begins. */
function characterStart(text: Buffer, at: number): number {
  let start = at
  while (((text[start] ?? 0) & 0xc0) === 0x80) start += 1
  return start
}
