/**
 * Verbs that have the same effect and answer when they run twice, and why that is intended.
 * `lost-commit-cases.test.ts` checks this for these verbs and for no other.
 */
export const harmlessTwice: Readonly<Record<string, string>> = {
  'outbox.refuseIdentity':
    'a refusal during a block changes nothing, so the refusals of ten nodes count once',
  'outbox.confirm': 'a confirmed delivery is SENT, and SENT is final',
  'outbox.markerKeys': 'only the first call creates a key',
  'outbox.learnAuthor': 'an account is known or not',
  'outbox.noteRestore': 'deliveries that are already in doubt stay in doubt',
  'catchUp.noteLooked': 'it stores a time, and the second time is the same or later',
  'catchUp.noteDeliveriesRead': 'it stores how far the list was read',
  'catchUp.forgetHeadCheck': 'there is nothing left to forget',
  'runs.claim, once': 'the key returns the first answer',
  'runs.heartbeat': 'a lease can be renewed twice',
  'runs.cancelPending': 'a run that has ended stays as it is',
  'runs.complete': 'a repeat by the same holder gets the first answer',
  'steps.act, with a late result': 'a stored result is final',
  'steps.act, holding': 'the holder that let the run go gets the first answer',
  'upkeep.beat': 'it stores a time',
  'upkeep.purge': 'it removes only what is past its retention, in any number of batches',
  'audit.number': 'a row that has a number keeps it',
  'tokens.touch': 'it stores a time',
  'repositories.learn': 'a known name is not stored again',
  'repositories.learnUnverified': 'a known name is not stored again',
  'catchUp.noteQuietLooked': 'it stores a time and a position',
  'upkeep.storeId': 'it is made once, and read afterwards',
  'upkeep.recordMode': 'the first start is written once',
}
