/**
 * The marker: an HTML comment at the end of what Holdfast writes. If GitHub's answer and the id in
 * it were lost, Holdfast recognises its own text by the marker.
 *
 *   <!-- holdfast:1 KEY-ID DELIVERY-KEY SIGNATURE -->
 *
 * What must hold:
 *   - Anybody may copy a marker. So it counts only if our account is the author (`isByUs` in
 *     parts.ts).
 *   - It is signed over GitHub's id of the repository, the thread and the delivery key. So a copy
 *     is useless elsewhere, and every store that has the key can verify it.
 *   - Of several markers the last one counts. Holdfast's own marker is at the very end, and the
 *     text before it is made safe, so it contains no marker.
 *
 * Older markers are signed over our own id of the repository, or of one that was merged into it.
 * They still verify in the store that wrote them.
 */
import { createHmac } from 'node:crypto'
import type { Ownership } from '../channel.ts'
import type { RepositoryTarget } from './parts.ts'
import { sameHash } from '../secrets.ts'

export interface MarkerKey {
  readonly id: string
  readonly secret: string
}

/** The current key signs new markers. All keys verify. */
export interface MarkerKeys {
  readonly current: MarkerKey
  readonly all: readonly MarkerKey[]
}

/** What a marker is signed over. */
export type Marked = Pick<
  RepositoryTarget,
  'repoGithubId' | 'ownRepositoryIds' | 'thread' | 'markerKey'
>

/** `unverified`: it names this delivery, but none of our keys signed it. `other`: anything else. */
export type MarkerVerdict = 'verified' | 'unverified' | 'other'

const form = /<!-- holdfast:1 [\w-]{1,100} ([\w.!~*'()%-]{1,2000}) ([\w-]{43}) -->/g

export function withMarker(text: string, of: Marked, { current }: MarkerKeys): string {
  const signature = sign(of.repoGithubId, of, current)
  const marker = `<!-- holdfast:1 ${current.id} ${written(of.markerKey)} ${signature} -->`
  return text === '' ? marker : `${text}\n\n${marker}`
}

export function judgeMarker(body: string, of: Marked, { current, all }: MarkerKeys): MarkerVerdict {
  const [, key, signature] = lastOf(body) ?? []
  if (signature === undefined || key !== written(of.markerKey)) return 'other'
  const isOurs = [of.repoGithubId, ...of.ownRepositoryIds].some((repository) =>
    [current, ...all].some((each) => sameHash(sign(repository, of, each), signature)),
  )
  return isOurs ? 'verified' : 'unverified'
}

/**
 * Which delivery a text of our account belongs to. Without our signature, a person may have written
 * it with that account.
 */
export function ownerByMarker(
  body: string,
  of: Marked,
  keys: MarkerKeys,
): Extract<Ownership, 'ours' | 'another' | 'unmarked'> {
  if (judgeMarker(body, of, keys) === 'verified') return 'ours'
  const [, key] = lastOf(body) ?? []
  return key !== undefined && key !== written(of.markerKey) ? 'another' : 'unmarked'
}

/** The delivery key that the marker names, whoever signed it. Returns null without a marker. */
export function markerKeyIn(body: string): string | null {
  const [, key] = lastOf(body) ?? []
  return key ?? null
}

/** The text without its marker, for comparing. GitHub may change line ends and outer blanks. */
export function withoutMarker(body: string): string {
  const marker = lastOf(body)
  const end = marker?.index ?? body.length
  const text = body.slice(0, end) + body.slice(end + (marker?.[0].length ?? 0))
  return text.replaceAll('\r\n', '\n').trim()
}

function lastOf(body: string): RegExpExecArray | undefined {
  return [...body.matchAll(form)].at(-1)
}

/**
 * Signs JSON, because parts that are only joined could be split at another place. In JSON, a number
 * of GitHub's also never equals a text of ours.
 */
function sign(
  repository: number | string,
  { thread, markerKey }: Marked,
  { secret }: MarkerKey,
): string {
  const signed = JSON.stringify(['holdfast:1', repository, thread, markerKey])
  return createHmac('sha256', secret).update(signed).digest('base64url')
}

/** Contains no blank and no end of an HTML comment, whatever characters the key has. */
function written(markerKey: string): string {
  return encodeURIComponent(markerKey.toWellFormed())
}
