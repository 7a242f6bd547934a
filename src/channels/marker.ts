/**
 * The marker: an HTML comment at the end of what we write, by which we know it again when its id
 * was lost with an answer.
 *
 *   <!-- holdfast:1 KEY-ID DELIVERY-KEY SIGNATURE -->
 *
 * What must hold: it counts only together with our author (authors.ts), for anybody may copy it. It
 * is signed over GitHub's id of the repository, the thread and the delivery key, so that a copy is
 * of no use elsewhere, and any store that has the key verifies it. Of several the last one counts:
 * ours stands at the very end, and the text before it is escaped so that it can carry none.
 *
 * Older markers are signed over our own id of the repository, or of one that was merged into it;
 * they go on verifying in the store that wrote them.
 */
import { createHmac } from 'node:crypto'
import type { Ownership } from '../channel.ts'
import type { RepositoryTarget } from './parts.ts'
import { sameHash } from '../secrets.ts'

export interface MarkerKey {
  readonly id: string
  readonly secret: string
}

/** New markers are signed with the current key; all of them go on verifying. */
export interface MarkerKeys {
  readonly current: MarkerKey
  readonly all: readonly MarkerKey[]
}

/** What a marker is signed over. */
export type Marked = Pick<
  RepositoryTarget,
  'repoGithubId' | 'ownRepositoryIds' | 'thread' | 'markerKey'
>

/** `unverified`: it names this delivery, but no key of ours signed it. `other`: of no concern. */
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

/** Of what our author wrote: whose it is. Without our signature it may be a person's own words. */
export function ownerByMarker(
  body: string,
  of: Marked,
  keys: MarkerKeys,
): Extract<Ownership, 'ours' | 'another' | 'unmarked'> {
  if (judgeMarker(body, of, keys) === 'verified') return 'ours'
  const [, key] = lastOf(body) ?? []
  return key !== undefined && key !== written(of.markerKey) ? 'another' : 'unmarked'
}

/** The key of the delivery that it says it is, whoever signed it; null where it says nothing. */
export function markerKeyIn(body: string): string | null {
  const [, key] = lastOf(body) ?? []
  return key ?? null
}

/** The text alone, as it compares: line ends and blanks around it get lost on the way. */
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
 * As JSON, because parts that are only put one after the other can be parted elsewhere, and because
 * a number of GitHub's is never equal to a text of ours.
 */
function sign(
  repository: number | string,
  { thread, markerKey }: Marked,
  { secret }: MarkerKey,
): string {
  const signed = JSON.stringify(['holdfast:1', repository, thread, markerKey])
  return createHmac('sha256', secret).update(signed).digest('base64url')
}

/** Never a blank and never the end of an HTML comment, whatever the key is made of. */
function written(markerKey: string): string {
  return encodeURIComponent(markerKey.toWellFormed())
}
