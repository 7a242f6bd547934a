/**
 * Whether what an operator names on GitHub is this delivery's: ours, and on its thread or commit.
 * Whatever is taken for a delivery's own is overwritten by its next version, so a slip must not
 * hand over somebody else's comment.
 */
import { ConflictError, deliveryNotFound } from '../errors.ts'
import type { Channel, Ownership } from '../channel.ts'
import { GitHubError } from '../github/errors.ts'
import type { PlacedDelivery } from '../store/outbox-store.ts'
import type { Store } from '../store.ts'
import type { OwnAuthors } from './own-authors.ts'
import type { Places } from './places.ts'
import { targetOf } from './target-of.ts'

/** Rejects with `not_ours`, or with `not_checked` when GitHub could not be asked. */
export type CheckIsOurs = (deliveryId: string, providerId: string) => Promise<void>

export interface OwnershipParts {
  readonly store: Store
  readonly channels: ReadonlyMap<string, Channel>
  readonly authors: Pick<OwnAuthors, 'learn'>
  readonly places: Places
}

export function createIsOurs(parts: OwnershipParts): CheckIsOurs {
  const { store, channels, authors } = parts
  return async (deliveryId, providerId) => {
    const placed = await store.outbox.placed(deliveryId)
    if (placed === null) throw deliveryNotFound(deliveryId)
    // What was sent is final: confirming it once more changes nothing.
    if (placed.delivery.status === 'SENT') return
    const channel = channels.get(placed.delivery.channel)
    if (channel === undefined) throw notChecked('this program has no such channel')
    try {
      await authors.learn()
      const known = await withId(parts, placed)
      const target = targetOf(known, known.repoGithubId)
      const content: unknown = JSON.parse(placed.delivery.content)
      const found = await channel.ownershipOf({ target, providerId, content }, Infinity)
      if (found !== 'ours') throw notOurs(placed, providerId, found)
    } catch (error) {
      if (error instanceof GitHubError) throw notChecked(error.message)
      throw error
    }
  }
}

async function withId({ store, places }: OwnershipParts, placed: PlacedDelivery) {
  if (placed.repoGithubId === null || placed.unverifiedName !== null) {
    const finding = await places.learn(placed)
    if (finding.what === 'look_failed') throw notChecked(finding.trouble.text)
  }
  const now = await store.outbox.placed(placed.delivery.id)
  const repoGithubId = now?.repoGithubId ?? null
  if (now === null || repoGithubId === null || now.unverifiedName !== null)
    throw notChecked('GitHub asked us to wait')
  return { ...now, repoGithubId }
}

const reasons: Readonly<Record<Exclude<Ownership, 'ours'>, string>> = {
  absent: 'there is no such thing in this repository',
  foreign: 'somebody else made it',
  elsewhere: 'it is not on this thread or commit',
  another: 'it belongs to another delivery',
  unmarked: 'our account made it, but without the signed marker of this delivery',
}

const hintForUnmarked = (id: string): string =>
  'If Holdfast wrote it with a key that this store does not have, import that key ' +
  '(holdfast keys import FILE), or delete it on GitHub and have it sent anew ' +
  `(holdfast deliveries retry ${id}).`

const otherHint =
  'Give the id of what Holdfast itself published there, or leave the id out: then it is ' +
  'looked for when there is something new to show.'

function notOurs(
  { delivery, repo }: PlacedDelivery,
  providerId: string,
  found: Exclude<Ownership, 'ours'>,
): ConflictError {
  const place = delivery.thread === null ? repo : `${repo}#${delivery.thread}`
  return new ConflictError(
    'not_ours',
    `${providerId} cannot be taken for delivery ${delivery.id} in ${place}: ${reasons[found]}`,
    {
      hint: found === 'unmarked' ? hintForUnmarked(delivery.id) : otherHint,
    },
  )
}

function notChecked(why: string): ConflictError {
  return new ConflictError('not_checked', `GitHub could not be asked whether it is ours: ${why}`, {
    hint: 'Try again later, ask a server (--url), or leave the id out.',
  })
}
