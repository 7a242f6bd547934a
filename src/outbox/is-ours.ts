/**
 * Checks an id that an operator gives when confirming a delivery. The thing on GitHub must be ours,
 * must belong to this delivery and must be on its thread or commit. The next version of the
 * delivery overwrites it, so a wrong id must never reach somebody else's comment.
 */
import { ConflictError, deliveryNotFound } from '../errors.ts'
import type { Channel, Ownership } from '../channel.ts'
import type { PlacedDelivery } from '../store/outbox-store.ts'
import type { Store } from '../store.ts'
import { targetOf, type RepositoryIds } from './publishing-parts.ts'

/** Rejects with `not_ours`, or with `not_checked` if GitHub could not be asked. */
export type CheckIsOurs = (deliveryId: string, providerId: string) => Promise<void>

export interface OwnershipParts {
  readonly store: Store
  readonly channels: ReadonlyMap<string, Channel>
  /** Finds out and stores which account we act as. */
  readonly learnOwnAccount: () => Promise<void>
  readonly repositoryIds: RepositoryIds
}

export function createIsOurs(parts: OwnershipParts): CheckIsOurs {
  const { store, channels } = parts
  return async (deliveryId, providerId) => {
    const placed = await store.outbox.deliveryWithPlace(deliveryId)
    if (placed === null) throw deliveryNotFound(deliveryId)
    // A sent delivery is final, so confirming it again changes nothing.
    if (placed.delivery.status === 'SENT') return
    const channel = channels.get(placed.delivery.channel)
    if (channel === undefined) throw notChecked('this process does not have its channel')
    try {
      await parts.learnOwnAccount()
      const target = targetOf(await withRepositoryId(parts, placed, channel))
      const content: unknown = JSON.parse(placed.delivery.content)
      const found = await channel.ownershipOf?.({ target, providerId, content }, Infinity)
      if (found === undefined) throw notChecked('what this channel publishes cannot be looked at')
      if (found !== 'ours') throw notOurs(placed, providerId, found)
    } catch (error) {
      const failure = channel.declaration.failureOf(error)
      throw failure === null ? error : notChecked(failure.trouble.text)
    }
  }
}

async function withRepositoryId(
  { store, repositoryIds }: OwnershipParts,
  placed: PlacedDelivery,
  { declaration }: Channel,
): Promise<PlacedDelivery> {
  if (placed.delivery.repositoryId === null) return placed
  if (placed.repoGithubId === null || placed.unverifiedName !== null) {
    const finding = await repositoryIds.learn(placed, declaration)
    if (finding.what === 'look_failed') throw notChecked(finding.trouble.text)
  }
  const now = await store.outbox.deliveryWithPlace(placed.delivery.id)
  if (now === null || now.repoGithubId === null || now.unverifiedName !== null)
    throw notChecked('GitHub asked us to wait')
  return now
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
  '(holdfast keys import FILE), or delete it on GitHub and send it again ' +
  `(holdfast deliveries retry ${id}).`

const otherHint =
  'Give the id of what Holdfast itself published there, or leave the id out: then it is ' +
  'looked for when there is something new to show.'

function notOurs(
  { delivery, repo }: PlacedDelivery,
  providerId: string,
  found: Exclude<Ownership, 'ours'>,
): ConflictError {
  const { thread, address } = delivery
  const place = repo === null ? address : thread === null ? repo : `${repo}#${thread}`
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
