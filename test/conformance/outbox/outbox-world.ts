/** A new world for each test of the outbox, with a publisher that the test drives. */
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Announcement } from '../../../src/domain/run.ts'
import { announced, ManualPublisher } from './manual-publisher.ts'
import { TestSubject, type TestSubjectOptions } from '../test-subject.ts'
import { openWorld, useFreshWorld, type OpenStore } from '../world.ts'

export const onlyStatus: Announcement = { ...announced, anchorPer: null, checkName: null }
export const onlyAnchor: Announcement = { ...announced, statusContext: null, checkName: null }

export function useOutbox(open: OpenStore) {
  const world = useFreshWorld(() => openWorld(open))
  const outbox = () => world.store.outbox
  return {
    world,
    publisher: new ManualPublisher(world),
    outbox,
    move: (ms: number) => world.clock.move(ms),
    /** A subject whose runs are announced everywhere, unless the options say otherwise. */
    make: (options: TestSubjectOptions = {}) =>
      new TestSubject(world, { announcement: announced, ...options }),
    /** An existing delivery, as it is now. */
    now: (deliveryId: string) => outbox().delivery(deliveryId) as Promise<Delivery>,
  }
}
